import type { BareAnswer } from './bare.ts';
import { startChild, type Child } from './child.ts';
import { MEMBER, type Prepared } from './data.ts';
import { load } from './load.ts';
import { median } from './median.ts';
import type { Result } from './report.ts';

/** Sent with every request, the login's too: a session is bound to them. */
export const AGENT = { 'user-agent': 'parley-bench', 'accept-language': 'en' };

export interface Member {
  readonly headers: Readonly<Record<string, string>>;
}

/** Logs in through the form, as a browser would. */
export async function login(url: string): Promise<Member> {
  const cookies = new Map<string, string>();
  const visit = async (path: string, init: RequestInit = {}): Promise<string> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url + path, {
      ...init,
      redirect: 'manual',
      headers: { ...AGENT, ...(cookie && { cookie }), ...(init.headers as Record<string, string>) },
    });
    for (const line of response.headers.getSetCookie())
      cookies.set(line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1, line.indexOf(';')));
    return response.text();
  };
  const token = (page: string): string => /<meta name="csrf-token" content="([^"]+)"/.exec(page)?.[1] ?? '';
  const first = token(await visit('/login'));
  const form = new URLSearchParams({ _csrf: first, identifier: MEMBER.username, password: MEMBER.password }).toString();
  await visit('/login', {
    method: 'POST',
    body: form,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  const second = token(await visit('/'));
  if (second === '' || second === first) throw new Error('the bench could not log in');
  return {
    headers: {
      ...AGENT,
      cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      'x-csrf-token': second,
    },
  };
}

/** Turns taken with the baseline: what else the machine does meanwhile meets both alike. */
export const TURNS = 4;

/** What a visitor reads, and how fast it should be. */
export interface Read {
  readonly name: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly goal: number;
}

/** Each beside bare Express with the same bytes. */
export async function besideBare(forum: Child, reads: readonly Read[], seconds: number): Promise<readonly Result[]> {
  await using bare = await startChild('bare.ts');
  const results: Result[] = [];
  for (const { name, path, headers, goal } of reads) {
    const response = await fetch(forum.url + path, { headers });
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
    const body = new Uint8Array(await response.arrayBuffer());
    const url = response.url;
    const type = response.headers.get('content-type') ?? 'text/html';
    await bare.ask({ answers: [{ body: Buffer.from(body).toString('base64'), type }] satisfies BareAnswer[] });
    await load({ url, headers, seconds: 1 });
    const [rates, ratios]: [number[], number[]] = [[], []];
    for (let turn = 0; turn < TURNS; turn++) {
      const { perSecond } = await load({ url, headers, seconds: seconds / TURNS });
      rates.push(perSecond);
      ratios.push(perSecond / (await load({ url: `${bare.url}/`, seconds: seconds / TURNS })).perSecond);
    }
    results.push({
      name,
      value: median(rates),
      unit: `requests/s of ${body.length} bytes`,
      ratio: median(ratios),
      goal,
      atMost: false,
    });
  }
  return results;
}

const visitors = (member: Member) =>
  [
    { who: 'guest', headers: AGENT },
    { who: 'member', headers: member.headers },
  ] as const;

/** The hot pages and calls, for guests and for a member. */
export function measureReads(
  forum: Child,
  prepared: Prepared,
  member: Member,
  seconds: number,
): Promise<readonly Result[]> {
  const hot = [
    { what: 'GET /api/discussions', path: '/api/discussions' },
    { what: 'home', path: '/' },
    { what: 'discussion', path: `/d/${prepared.short}` },
  ];
  return besideBare(
    forum,
    visitors(member).flatMap(({ who, headers }) =>
      hot.map(({ what, path }): Read => ({
        name: `${who}: ${what}`,
        path,
        headers,
        goal: who === 'guest' ? 0.6 : 0.1,
      })),
    ),
    seconds,
  );
}

/** Every other list that guests get from the API, warm. Null in a quick run. */
export async function measureLists(
  forum: Child,
  prepared: Prepared,
  member: Member,
  quick: boolean,
): Promise<readonly Result[]> {
  const [discussion = ''] = prepared.discussions;
  const paths = [
    '/api/categories',
    '/api/tags',
    `/api/tags/${prepared.tag}/discussions`,
    `/api/discussions/${discussion}/posts`,
    `/api/reactions/post/${prepared.post}`,
    '/api/users/search?q=bench',
    '/api/search?q=measured',
    '/api/events',
    '/api/presence/visitors',
    '/api/presence/bots',
    `/api/typing-indicator/status?discussion_id=${discussion}`,
  ];
  const reads = visitors(member).flatMap(({ who, headers }) =>
    paths.map((path): Read => ({
      name: `${who}: GET ${path.replace(/[0-9a-f]{8}-[0-9a-f-]+/, '{id}')}`,
      path,
      headers,
      goal: who === 'guest' ? 0.5 : 0.1,
    })),
  );
  if (quick)
    return reads.map(({ name, goal }): Result => ({
      name,
      value: undefined,
      unit: 'requests/s',
      ratio: undefined,
      goal,
      atMost: false,
    }));
  return besideBare(forum, reads, TURNS);
}
