import { check, didYouMean, messageOf, type TSchema } from 'parley-forum';
import type { ImportedAmounts } from 'parley-forum/plugins/imports';
import { readLines } from './line-reader.ts';
import { keyOf, MAX_CONTENT_BYTES, RECORDS, type Category, type Discussion, type Line } from './records.ts';

/** Problems that are told; behind so many nobody reads on. */
const MOST_PROBLEMS = 20;

export interface CheckedFile {
  readonly amounts: ImportedAmounts;
  /** A line each: where it is and what is wrong. */
  readonly problems: readonly string[];
}

/** Looks through the whole file, so that nothing of one with faults is written. `now`: nothing was written later. */
export async function checkFile(path: string, now: number): Promise<CheckedFile> {
  const problems: string[] = [];
  const known = {
    member: new Set<string>(),
    category: new Set<string>(),
    discussion: new Set<string>(),
    email: new Set<string>(),
  };
  let posts = 0;
  for await (const { number, text } of readLines(path)) {
    const found = readLine(text);
    const wrong = typeof found === 'string' ? [found] : [...faultsOf(found, known, now)];
    for (const problem of wrong) problems.push(`line ${number}: ${problem}`);
    if (problems.length >= MOST_PROBLEMS) break;
    if (typeof found === 'string') continue;
    known[found.kind].add(keyOf(found.id));
    if (found.kind === 'member') known.email.add(found.email.toLowerCase());
    if (found.kind === 'discussion') posts += found.posts.length;
  }
  const { member, category, discussion } = known;
  const amounts = { members: member.size, categories: category.size, discussions: discussion.size, posts };
  return { amounts, problems: problems.slice(0, MOST_PROBLEMS) };
}

/** What a line says, or why it says nothing. */
export function readLine(text: string): Line | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `is no JSON: ${messageOf(error)}`;
  }
  const kind = String((value as { kind?: unknown } | null)?.kind);
  if (!Object.hasOwn(RECORDS, kind)) return `“kind” must be one of ${Object.keys(RECORDS).join(', ')}`;
  const schema = RECORDS[kind as Line['kind']];
  const checked = check(schema, value);
  if (!checked.ok) return checked.problems.map(({ field, message }) => `${field} ${message}`).join('; ');
  return unknownField(schema, value) ?? (checked.value as Line);
}

/** A field that is misspelt would be left out silently. */
function unknownField(schema: TSchema, value: unknown): string | undefined {
  const { properties, items } = schema as { properties?: Record<string, TSchema>; items?: TSchema };
  if (Array.isArray(value) && items) return value.map((one) => unknownField(items, one)).find(Boolean);
  if (!properties || typeof value !== 'object' || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const known = properties[name];
    if (!known) {
      const names = Object.keys(properties);
      return `${name} is no field; ${didYouMean(name, names, `it has ${names.join(', ')}`)}`;
    }
    const below = unknownField(known, inner);
    if (below !== undefined) return `${name}: ${below}`;
  }
  return undefined;
}

type Known = Readonly<Record<Line['kind'] | 'email', ReadonlySet<string>>>;

/** What no schema tells: names of others stand behind them, and nothing is twice. */
function* faultsOf(line: Line, known: Known, now: number): Generator<string> {
  if (known[line.kind].has(keyOf(line.id))) yield `there is a ${line.kind} ${line.id} before`;
  if (line.kind === 'member' && known.email.has(line.email.toLowerCase())) yield `${line.email} is another member’s`;
  if (line.kind === 'category') yield* faultsOfCategory(line, known);
  if (line.kind === 'discussion') yield* faultsOfDiscussion(line, known, now);
}

function* faultsOfCategory({ parent }: Category, known: Known): Generator<string> {
  if (parent !== undefined && !known.category.has(keyOf(parent))) yield `no category ${parent} stands before it`;
}

function* faultsOfDiscussion({ category, posts }: Discussion, known: Known, now: number): Generator<string> {
  if (!known.category.has(keyOf(category))) yield `no category ${category} stands before it`;
  if (posts.filter(({ accepted }) => accepted).length > 1) yield 'more than one post is the accepted answer';
  let before = 0;
  for (const [at, { author, content, created_at: created, likes = [], reply_to: to }] of posts.entries()) {
    const name = `posts.${at}`;
    for (const member of [author, ...likes])
      if (!known.member.has(keyOf(member))) yield `${name}: no member ${member} stands before it`;
    if (Buffer.byteLength(content) > MAX_CONTENT_BYTES)
      yield `${name}.content must have at most ${MAX_CONTENT_BYTES} bytes`;
    if (to !== undefined && to > at) yield `${name}.reply_to is no post before it`;
    const time = Date.parse(created);
    if (time > now) yield `${name}.created_at is in the future`;
    if (time < before) yield `${name}.created_at is earlier than that of the post before it`;
    before = time;
  }
}
