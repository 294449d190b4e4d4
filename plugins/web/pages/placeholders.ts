import { randomBytes } from 'node:crypto';
import { csrfMark, SafeHtml } from '../api.ts';

// Pages are rendered with marks where every answer differs, so that one rendering can be sent to many. Nobody outside
// this process knows the marks, so no text in a page can imitate one.
const secret = randomBytes(12).toString('hex');

export const NONCE_MARK = `n${secret}n`;
const SLOT_MARK = `s${secret}`;

export const slotMark = (index: number): SafeHtml => new SafeHtml(`<!--${SLOT_MARK}-${index}-->`);
const SLOTS = new RegExp(`<!--${SLOT_MARK}-(\\d+)-->`, 'g');
export const fillSlotMarks = (text: string, content: (index: number) => string): string =>
  text.replace(SLOTS, (_mark, index: string) => content(Number(index)));

const ANSWER = new RegExp(`(${NONCE_MARK}|${csrfMark})`);

/** A rendered page as what is always the same and, between, what each answer brings: at odd places a mark. */
export const splitMarks = (text: string): readonly string[] => text.split(ANSWER);

/** The page for one answer. */
export const fillMarks = (text: string, values: { readonly nonce: string; readonly csrf: string }): string =>
  text.replaceAll(NONCE_MARK, values.nonce).replaceAll(csrfMark, values.csrf);
