import { randomBytes } from 'node:crypto';
import { csrfPlaceholder, SafeHtml } from '../api.ts';

// Pages are rendered with placeholders where every response differs, so that one rendering can be sent to many. The
// placeholders are secret to this process, so no text in a page can imitate one.
const secret = randomBytes(12).toString('hex');

export const NONCE_PLACEHOLDER = `n${secret}n`;
const SLOT_PLACEHOLDER = `s${secret}`;

export const slotPlaceholder = (index: number): SafeHtml => new SafeHtml(`<!--${SLOT_PLACEHOLDER}-${index}-->`);
const SLOTS = new RegExp(`<!--${SLOT_PLACEHOLDER}-(\\d+)-->`, 'g');
export const fillSlotPlaceholders = (text: string, content: (index: number) => string): string =>
  text.replace(SLOTS, (_mark, index: string) => content(Number(index)));

const RESPONSE_PLACEHOLDERS = new RegExp(`(${NONCE_PLACEHOLDER}|${csrfPlaceholder})`);

/** Splits a rendered page at what each response fills in: the odd items are placeholders. */
export const splitAtPlaceholders = (text: string): readonly string[] => text.split(RESPONSE_PLACEHOLDERS);

/** The page for one response. */
export const fillPlaceholders = (text: string, values: { readonly nonce: string; readonly csrf: string }): string =>
  text.replaceAll(NONCE_PLACEHOLDER, values.nonce).replaceAll(csrfPlaceholder, values.csrf);
