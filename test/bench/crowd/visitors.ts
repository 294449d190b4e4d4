import type { BareAnswer } from '../bare.ts';
import { AGENT } from '../reads.ts';
import { Requests, type Kind, type Visitor } from './requests.ts';

/** A session of the member, as a browser has it. */
export async function enter(url: string, id: string): Promise<Visitor> {
  const response = await fetch(`${url}/bench/enter/${id}`, { headers: AGENT });
  const { csrf } = (await response.json()) as { csrf: string };
  return { ...AGENT, cookie: cookiesOf(response), 'x-csrf-token': csrf };
}

/** A guest who comes back. */
export const returningGuest = async (url: string): Promise<Visitor> => ({
  ...AGENT,
  cookie: cookiesOf(await fetch(url, { headers: AGENT })),
});

const cookiesOf = ({ headers }: Response): string =>
  headers
    .getSetCookie()
    .filter((line) => !line.includes('Max-Age=0'))
    .map((line) => line.slice(0, line.indexOf(';')))
    .join('; ');

/** A member's token for the API. */
export async function tokenOf(url: string, member: Visitor): Promise<Visitor> {
  const headers = { ...member, accept: 'application/json' };
  const response = await fetch(`${url}/settings/security/api-token`, { method: 'POST', headers });
  const { token } = (await response.json()) as { token: string };
  return { ...AGENT, authorization: `Bearer ${token}` };
}

/** So many answers to requests of these kinds, uncompressed. */
export async function sample(
  url: string,
  kinds: readonly Kind[],
  { words, count }: { readonly words: readonly string[]; readonly count: number },
): Promise<readonly BareAnswer[]> {
  const requests = new Requests(kinds, words);
  const answers: BareAnswer[] = [];
  while (answers.length < count) {
    const { path, visitor } = requests.next();
    const response = await fetch(url + path, { headers: visitor });
    if (!response.ok || response.redirected)
      throw new Error(`${path} answered ${response.status} from ${response.url}`);
    const body = Buffer.from(await response.arrayBuffer()).toString('base64');
    answers.push({ body, type: response.headers.get('content-type') ?? '' });
  }
  return answers;
}
