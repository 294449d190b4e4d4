import sharp from 'sharp';
import type { Answer, Client } from 'parley-forum/testing';

/** A picture of one colour. */
export const picture = (
  format: 'png' | 'jpeg' | 'gif' | 'webp' | 'avif' = 'png',
  { width = 40, height = 30 } = {},
): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 3, background: '#c04010' } })
    .toFormat(format)
    .toBuffer();

export interface Sending {
  readonly type?: string;
  readonly field?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A form with a file, as a browser would send it. */
export function formWith(
  bytes: Uint8Array | string,
  name: string,
  { type = 'application/octet-stream', field = 'file' }: Sending = {},
): FormData {
  const form = new FormData();
  form.append(field, new Blob([typeof bytes === 'string' ? bytes : new Uint8Array(bytes)], { type }), name);
  return form;
}

/** Uploads through the API. */
export const send = (
  client: Client,
  bytes: Uint8Array | string,
  name: string,
  sending: Sending = {},
): Promise<Answer> =>
  client.request('POST', '/api/uploads', { body: formWith(bytes, name, sending), headers: sending.headers ?? {} });
