import { randomBytes } from 'node:crypto';
import { csrfPlaceholder, SafeHtml } from '../api.ts';

// Pages are rendered with placeholders where responses differ, so that one rendering can be sent to many visitors. The
// placeholders are secret to this process, so no text in a page can imitate one.
const secret = randomBytes(11).toString('hex');

/** Has the same length as a nonce: 16 random bytes in base64. */
export const NONCE_PLACEHOLDER = `n${secret}n`;
const PLACEHOLDERS = [
  { name: 'nonce', text: Buffer.from(NONCE_PLACEHOLDER) },
  { name: 'csrf', text: Buffer.from(csrfPlaceholder) },
] as const;

/** A value that is filled in for each response, with its byte offset and length in the page. */
export interface ResponsePlace {
  readonly name: (typeof PLACEHOLDERS)[number]['name'];
  readonly at: number;
  readonly length: number;
}

/** All places in a rendered page that are filled in for each response, in order. */
export function placesIn(page: Buffer): readonly ResponsePlace[] {
  const places: ResponsePlace[] = [];
  for (const { name, text } of PLACEHOLDERS)
    for (let at = page.indexOf(text); at !== -1; at = page.indexOf(text, at + text.length))
      places.push({ name, at, length: text.length });
  return places.sort((a, b) => a.at - b.at);
}

/** The page with the values of one response. */
export function fillPlaceholders(page: Buffer, values: Readonly<Record<ResponsePlace['name'], string>>): Buffer {
  const filled = Buffer.from(page);
  for (const { name, at, length } of placesIn(page)) filled.write(values[name], at, length, 'latin1');
  return filled;
}

/** Marks the place of the page's body in the layout. */
const BODY_PLACEHOLDER = `<!--b${secret}-->`;
export const bodyPlaceholder: SafeHtml = new SafeHtml(BODY_PLACEHOLDER);
/** The layout with the page's body inserted. */
export function fillLayout(layout: string, body: Buffer): Buffer {
  const [head = '', ...rest] = layout.split(BODY_PLACEHOLDER);
  return Buffer.concat([Buffer.from(head), ...rest.flatMap((text) => [body, Buffer.from(text)])]);
}

const SLOT_PLACEHOLDER = `s${secret}`;
export const slotPlaceholder = (index: number): SafeHtml => new SafeHtml(`<!--${SLOT_PLACEHOLDER}-${index}-->`);
const SLOTS = new RegExp(`<!--${SLOT_PLACEHOLDER}-(\\d+)-->`, 'g');
export const fillSlotPlaceholders = (text: string, content: (index: number) => string): string =>
  text.replace(SLOTS, (_mark, index: string) => content(Number(index)));

/** HTML as bytes, which are stored outside of the heap without overhead, with the offsets of slots to be filled. */
export interface HtmlWithSlots {
  readonly bytes: Buffer;
  /** In the order of the bytes. */
  readonly slots: readonly { readonly index: number; readonly at: number }[];
}

export function splitAtSlots(text: string): HtmlWithSlots {
  const pieces = text.split(SLOTS);
  const parts = pieces.filter((_piece, place) => place % 2 === 0).map((text) => Buffer.from(text));
  let at = 0;
  const slots = parts.slice(1).map((_part, place) => {
    at += parts[place]!.length;
    return { index: Number(pieces[2 * place + 1]), at };
  });
  return { bytes: Buffer.concat(parts), slots };
}

export function fillSlots({ bytes, slots }: HtmlWithSlots, content: (index: number) => string): Buffer {
  const contents = slots.map(({ index, at }) => ({ at, text: content(index) })).filter(({ text }) => text !== '');
  const added = contents.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  const filled = Buffer.allocUnsafe(bytes.length + added);
  let [from, to] = [0, 0];
  for (const { at, text } of contents) {
    to += bytes.copy(filled, to, from, at);
    to += filled.write(text, to);
    from = at;
  }
  bytes.copy(filled, to, from);
  return filled;
}
