import { check, didYouMean, InvalidInput, messageOf, type TSchema } from 'parley-forum';
import type { Categories, Importer } from 'parley-forum/plugins/discussions';
import type { ImportedAmounts } from 'parley-forum/plugins/imports';
import { readLines } from './line-reader.ts';
import { keyOf, RECORDS, slugOfCategory, type Category, type Discussion, type Line, type Member } from './records.ts';
import { acceptedTexts } from './texts.ts';

/** Maximum number of problems reported; nobody reads more. */
const MOST_PROBLEMS = 20;

export interface CheckedFile {
  readonly amounts: ImportedAmounts;
  /** One line per problem: where it is and what is wrong. */
  readonly problems: readonly string[];
}

export interface FileCheckDeps {
  readonly categories: Pick<Categories, 'all'>;
  readonly importer: Pick<Importer, 'acceptTitle' | 'acceptContent'>;
  /** The current time: no record may be later. */
  readonly now: number;
}

/** The records before a line, by their keys in the file. */
interface Known {
  readonly member: Set<string>;
  /** The slug of each category, and whether it has a parent. */
  readonly category: Map<string, { readonly below: boolean; readonly slug: string }>;
  readonly discussion: Set<string>;
  readonly email: Set<string>;
}

/** Checks the whole file before anything is written, so that a file with problems changes nothing. */
export async function checkFile(path: string, deps: FileCheckDeps): Promise<CheckedFile> {
  const problems: string[] = [];
  const known: Known = { member: new Set(), category: new Map(), discussion: new Set(), email: new Set() };
  let posts = 0;
  for await (const { number, text } of readLines(path)) {
    const found = readLine(text);
    const wrong = typeof found === 'string' ? [found] : [...faultsOf(found, known, deps)];
    if (typeof found !== 'string' && found.kind === 'discussion' && wrong.length === 0)
      wrong.push(...(await faultsOfTexts(found, deps)));
    for (const problem of wrong) problems.push(`line ${number}: ${problem}`);
    if (problems.length >= MOST_PROBLEMS) break;
    if (typeof found === 'string') continue;
    remember(found, known);
    if (found.kind === 'discussion') posts += found.posts.length;
  }
  const { member, category, discussion } = known;
  const amounts = { members: member.size, categories: category.size, discussions: discussion.size, posts };
  return { amounts, problems: problems.slice(0, MOST_PROBLEMS) };
}

function remember(line: Line, known: Known): void {
  const key = keyOf(line.id);
  if (line.kind === 'category')
    return void known.category.set(key, { below: line.parent !== undefined, slug: slugOfCategory(line) });
  known[line.kind].add(key);
  if (line.kind === 'member') known.email.add(line.email.toLowerCase());
}

/** Parses a line; returns the problem as text if it is not valid. */
export function readLine(text: string): Line | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `is not valid JSON: ${messageOf(error)}`;
  }
  const kind = String((value as { kind?: unknown } | null)?.kind);
  if (!Object.hasOwn(RECORDS, kind)) return `“kind” must be one of ${Object.keys(RECORDS).join(', ')}`;
  const schema = RECORDS[kind as Line['kind']];
  const checked = check(schema, value);
  if (!checked.ok) return checked.problems.map(({ field, message }) => `${field} ${message}`).join('; ');
  return unknownField(schema, value) ?? (checked.value as Line);
}

/** Finds an unknown field: a misspelt one would otherwise be ignored silently. */
function unknownField(schema: TSchema, value: unknown): string | undefined {
  const { properties, items } = schema as { properties?: Record<string, TSchema>; items?: TSchema };
  if (Array.isArray(value) && items) return value.map((one) => unknownField(items, one)).find(Boolean);
  if (!properties || typeof value !== 'object' || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const known = properties[name];
    if (!known) {
      const names = Object.keys(properties);
      return `${name} is not a known field; ${didYouMean(name, names, `use one of ${names.join(', ')}`)}`;
    }
    const below = unknownField(known, inner);
    if (below !== undefined) return `${name}: ${below}`;
  }
  return undefined;
}

/** Checks what schemas cannot: references must point to earlier records, and keys must be unique. */
function* faultsOf(line: Line, known: Known, deps: FileCheckDeps): Generator<string> {
  if (known[line.kind].has(keyOf(line.id))) yield `there is already a ${line.kind} ${line.id} on an earlier line`;
  if (line.kind === 'member') yield* faultsOfMember(line, known, deps);
  if (line.kind === 'category') yield* faultsOfCategory(line, known, deps);
  if (line.kind === 'discussion') yield* faultsOfDiscussion(line, known, deps);
}

function* faultsOfMember(
  { email, joined_at: joined }: Member,
  known: Known,
  { now }: FileCheckDeps,
): Generator<string> {
  if (known.email.has(email.toLowerCase())) yield `${email} is already used by another member`;
  if (joined !== undefined) yield* faultsOfTime('joined_at', joined, now);
}

/** From wide to narrow; a list of groups lies between the last two. */
const VIEWS = ['everyone', 'members', 'staff'];

function* faultsOfCategory(category: Category, known: Known, { categories }: FileCheckDeps): Generator<string> {
  const { parent, view = 'everyone' } = category;
  const above = parent === undefined ? undefined : known.category.get(keyOf(parent));
  if (parent !== undefined && !above) yield `there is no category ${parent} on an earlier line`;
  if (above?.below) yield `its parent ${parent} is a subcategory itself; there are only two levels of categories`;
  const slug = slugOfCategory(category);
  const [same] = [...known.category].find(([, other]) => other.slug === slug) ?? [];
  if (same !== undefined && same !== keyOf(category.id))
    yield `category ${same} has the slug ${slug} as well; use a different one`;
  const here = categories.all().find((one) => one.slug === slug);
  if (here && VIEWS.indexOf(typeof here.view === 'string' ? here.view : 'members') < VIEWS.indexOf(view))
    yield `the category ${slug} already exists and is visible to more people than “${view}”; use a different slug`;
}

function* faultsOfDiscussion({ category, posts }: Discussion, known: Known, { now }: FileCheckDeps): Generator<string> {
  if (!known.category.has(keyOf(category))) yield `there is no category ${category} on an earlier line`;
  if (posts.filter(({ accepted }) => accepted).length > 1) yield 'more than one post is the accepted answer';
  let before = -Infinity;
  for (const [at, { author, created_at: created, likes = [], reply_to: to }] of posts.entries()) {
    const name = `posts.${at}`;
    for (const member of [author, ...likes])
      if (!known.member.has(keyOf(member))) yield `${name}: there is no member ${member} on an earlier line`;
    if (to !== undefined && to > at) yield `${name}.reply_to is not an earlier post`;
    yield* faultsOfTime(`${name}.created_at`, created, now);
    const time = Date.parse(created);
    if (time < before) yield `${name}.created_at is earlier than that of the previous post`;
    before = time;
  }
}

function* faultsOfTime(name: string, text: string, now: number): Generator<string> {
  const time = Date.parse(text);
  if (time > now) yield `${name} is in the future`;
  if (time < 0) yield `${name} is before 1970`;
}

/** Finds problems that only show when the texts are rendered. */
async function faultsOfTexts(discussion: Discussion, { importer }: FileCheckDeps): Promise<readonly string[]> {
  try {
    await acceptedTexts(discussion, importer);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    return error.details.map(({ field, message }) => `${field} ${message}`);
  }
}
