import { store } from '@forum/client';

const KEY = 'emoji-recent';
/** Three rows. */
const MOST = 24;

/** Emoji without a tone that were chosen on this device, the last one first. */
export const recentEmoji = (): readonly string[] => (store.get(KEY) ?? '').split(' ').filter((one) => one !== '');

export const remember = (emoji: string): void =>
  store.set(KEY, [emoji, ...recentEmoji().filter((one) => one !== emoji)].slice(0, MOST).join(' '));
