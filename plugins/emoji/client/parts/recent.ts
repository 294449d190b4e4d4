import { store } from '@forum/client';

const KEY = 'emoji-recent';
/** Three rows. */
const MOST = 24;

/** Recently used emoji on this device, without skin tones, most recent first. */
export const recentEmoji = (): readonly string[] => (store.get(KEY) ?? '').split(' ').filter((one) => one !== '');

export const remember = (emoji: string): void =>
  store.set(KEY, [emoji, ...recentEmoji().filter((one) => one !== emoji)].slice(0, MOST).join(' '));
