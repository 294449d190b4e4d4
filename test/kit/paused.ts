import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { Client } from './client.ts';

/** Milliseconds for the server to read the head of a request and the beginning of its body. */
const BEGUN = 200;

/**
 * Sends a POST with a client's cookies, pauses in the middle of its body until `meanwhile` has ended, and resolves to
 * the status of the response.
 */
export async function postWithPause(
  client: Client,
  url: string,
  { body, headers }: { readonly body: string; readonly headers: Readonly<Record<string, string>> },
  meanwhile: () => Promise<unknown>,
): Promise<number | undefined> {
  const sending = request(url, {
    method: 'POST',
    headers: {
      cookie: [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      // As those of the client, by which its session is recognised.
      'user-agent': 'node',
      'accept-language': '*',
      'content-length': Buffer.byteLength(body),
      ...headers,
    },
  });
  const answered = once(sending, 'response') as Promise<[IncomingMessage]>;
  sending.write(body.slice(0, 10));
  await setTimeout(BEGUN);
  await meanwhile();
  sending.end(body.slice(10));
  const [response] = await answered;
  response.resume();
  return response.statusCode;
}
