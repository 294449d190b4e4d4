import { createId } from 'parley-forum';
import type { Child } from './child.ts';
import type { Prepared } from './data.ts';
import type { Statement } from './forum.ts';
import { load } from './load.ts';
import type { Member } from './reads.ts';
import { repeatOn, repeated } from './repeat.ts';
import type { Result } from './report.ts';

/**
 * `POST /api/posts` beside a bare pg client that replays the statements of one such request, in one transaction each.
 */
export async function measureWrites(
  forum: Child,
  databaseUrl: string,
  prepared: Prepared,
  member: Member,
  seconds: number,
): Promise<readonly Result[]> {
  const headers = { ...member.headers, 'content-type': 'application/json' };
  const bodies = prepared.discussions.map((id) =>
    JSON.stringify({
      discussion_id: id,
      content: 'A reply of ordinary length, with **emphasis** and `code`, as people write them.',
    }),
  );
  const url = `${forum.url}/api/posts`;
  await load({ url, headers, bodies, seconds: 1 });
  // What the load left under way would be recorded too.
  await new Promise((quiet) => setTimeout(quiet, 500));
  await forum.ask({ do: 'record' });
  const response = await fetch(url, { method: 'POST', headers, body: bodies[0]! });
  const { post } = (await response.json()) as { post: { id: string; discussion_id: string } };
  const { statements } = await forum.ask<{ statements: Statement[] }>({ do: 'recorded' });
  const inTransaction = transactionOf(statements, /insert into post /);
  const { perSecond } = await load({ url, headers, bodies, seconds });
  const replayed = await repeat(databaseUrl, inTransaction, post, prepared.discussions, seconds);
  return [
    {
      name: `POST /api/posts (${inTransaction.length} statements)`,
      value: perSecond,
      unit: 'requests/s',
      ratio: perSecond / replayed,
      goal: 0.4,
      atMost: false,
    },
  ];
}

/**
 * The statements between begin and commit around the one that fits; what else the process does meanwhile, such as the
 * work that a post leaves for later, is not the request's.
 */
function transactionOf(statements: readonly Statement[], sign: RegExp): readonly Statement[] {
  const connection = statements.find(({ text }) => sign.test(text))?.connection;
  const own = statements.filter((statement) => statement.connection === connection);
  const written = own.findIndex(({ text }) => sign.test(text));
  const bound = ({ text }: Statement): boolean => /^(begin|commit|rollback|start transaction)/i.test(text);
  const end = own.findIndex((statement, at) => at > written && bound(statement));
  return own.slice(own.slice(0, written).findLastIndex(bound) + 1, end < 0 ? undefined : end);
}

/** The works that are left for later, by their statement, and what their ids look like. */
const WORKS = /^insert into job /;
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7/;

/**
 * Transactions per second of the same statements with ids of other posts, works and discussions in place of the
 * recorded ones.
 */
function repeat(
  databaseUrl: string,
  statements: readonly Statement[],
  post: { id: string; discussion_id: string },
  discussions: readonly string[],
  seconds: number,
): Promise<number> {
  const works = statements
    .filter(({ text }) => WORKS.test(text))
    .flatMap(({ values }) => values.filter((value) => ID.test(String(value))));
  const made = [post.id, ...new Set(works.map(String))];
  return repeatOn(databaseUrl, seconds, async (client, turn) => {
    const ids = new Map<unknown, string>([
      ...made.map((id) => [id, createId(Date.now())] as const),
      [post.discussion_id, discussions[turn % discussions.length]!],
    ]);
    const within = (text: string): string => made.reduce((sofar, id) => sofar.replaceAll(id, ids.get(id)!), text);
    const fresh = (value: unknown): unknown =>
      ids.get(value) ?? (Array.isArray(value) ? value.map(fresh) : typeof value === 'string' ? within(value) : value);
    await client.query('begin');
    for (const [place, statement] of statements.entries())
      await client.query(repeated(statement, place, statement.values.map(fresh)));
    await client.query('commit');
  });
}
