import type { Console } from 'parley-forum';
import type { Accounts, ImportedAccount } from 'parley-forum/plugins/accounts';
import type { Categories, ImportedDiscussion, Importer } from 'parley-forum/plugins/discussions';
import type { Answers } from 'parley-forum/ports/imports';
import { readLine } from './file-check.ts';
import type { ImportStore } from './import-store.ts';
import { readLines } from './line-reader.ts';
import { acceptedTexts } from './texts.ts';
import { keyOf, slugOfCategory, type Category, type Discussion, type Key, type Line, type Member } from './records.ts';

export interface CommunityImporterDeps {
  readonly accounts: Pick<Accounts, 'findByIdentifier' | 'freeUsername' | 'importAccounts'>;
  readonly categories: Pick<Categories, 'all' | 'save'>;
  readonly importer: Importer;
  readonly store: ImportStore;
  readonly answers: Answers | undefined;
}

/** The username of members whose own has no character that is allowed here. */
const NAMELESS = 'member';
/** Members written, and discussions looked up, at a time. */
const [MEMBERS, DISCUSSIONS] = [500, 100];

/**
 * Imports the members, categories and discussions of a checked file. Existing records are left as they are, so that an
 * interrupted import can be continued: members are recognised by their e-mail address, categories by their slug, and
 * discussions by their key in the file.
 */
export class CommunityImporter {
  readonly #deps: CommunityImporterDeps;
  /** Ids by keys in the file. */
  readonly #members = new Map<string, string>();
  readonly #categories = new Map<string, string>();
  /** Lower-case usernames given to members in this import. */
  readonly #names = new Set<string>();

  constructor(deps: CommunityImporterDeps) {
    this.#deps = deps;
  }

  /** Resolves to the number of new discussions and posts. */
  async run(
    path: string,
    console: Pick<Console, 'progress'>,
  ): Promise<{ readonly discussions: number; readonly posts: number }> {
    for await (const members of batches(linesOf<Member>(path, 'member'), MEMBERS)) {
      await this.#addMembers(members);
      console.progress(`${this.#members.size.toLocaleString('en')} members`);
    }
    for await (const category of linesOf<Category>(path, 'category')) await this.#addCategory(category);
    const keys = new WeakMap<ImportedDiscussion, string>();
    return this.#deps.importer.importDiscussions(this.#discussions(path, keys), {
      written: (batch) => this.#deps.store.add(batch.map(({ id, source }) => ({ id, key: keys.get(source)! }))),
      progress: (discussions, posts) =>
        console.progress(`${discussions.toLocaleString('en')} discussions, ${posts.toLocaleString('en')} posts`),
    });
  }

  async #addMembers(members: readonly Member[]): Promise<void> {
    const { accounts } = this.#deps;
    const found = await Promise.all(members.map(({ email }) => accounts.findByIdentifier(email)));
    const fresh: { readonly key: string; readonly account: ImportedAccount }[] = [];
    for (const [at, member] of members.entries()) {
      const key = keyOf(member.id);
      const before = found[at];
      if (before) this.#members.set(key, before.id);
      else fresh.push({ key, account: await this.#account(member) });
    }
    const ids = await accounts.importAccounts(fresh.map(({ account }) => account));
    for (const [at, { key }] of fresh.entries()) this.#members.set(key, ids[at]!);
  }

  async #account({ username, email, name, bio, joined_at: joined }: Member): Promise<ImportedAccount> {
    const { accounts } = this.#deps;
    const free =
      (await accounts.freeUsername(username, this.#names)) ?? (await accounts.freeUsername(NAMELESS, this.#names))!;
    this.#names.add(free.toLowerCase());
    // A member whose username is not available keeps it as their display name.
    const displayName = name ?? (free === username ? undefined : username);
    return {
      username: free,
      email,
      ...(displayName !== undefined && { displayName }),
      ...(bio !== undefined && { bio }),
      ...(joined !== undefined && { joinedAt: new Date(joined) }),
    };
  }

  async #addCategory({
    id,
    name,
    slug,
    description = '',
    parent,
    view = 'everyone',
    ...more
  }: Category): Promise<void> {
    const { answers, categories } = this.#deps;
    const wanted = slugOfCategory({ name, ...(slug !== undefined && { slug }) });
    const before = categories.all().find((one) => one.slug === wanted);
    const parentId = parent === undefined ? null : this.#categories.get(keyOf(parent))!;
    const who = view === 'staff' ? 'staff' : 'members';
    const saved =
      before ?? (await categories.save({ name, slug: wanted, description, parentId, view, create: who, reply: who }));
    if (!before && more.answers) await answers?.ask(saved.id, true);
    this.#categories.set(keyOf(id), saved.id);
  }

  /** The discussions that have not been imported yet, with their posts rendered. */
  async *#discussions(path: string, keys: WeakMap<ImportedDiscussion, string>): AsyncGenerator<ImportedDiscussion> {
    for await (const batch of batches(linesOf<Discussion>(path, 'discussion'), DISCUSSIONS)) {
      const there = await this.#deps.store.known(batch.map(({ id }) => keyOf(id)));
      for (const line of batch.filter(({ id }) => !there.has(keyOf(id)))) {
        const discussion = await this.#discussion(line);
        keys.set(discussion, keyOf(line.id));
        yield discussion;
      }
    }
  }

  async #discussion(line: Discussion): Promise<ImportedDiscussion> {
    const { category, tags, views, pinned, locked, posts } = line;
    const { title, texts } = await acceptedTexts(line, this.#deps.importer);
    return {
      title,
      categoryId: this.#categories.get(keyOf(category))!,
      authorId: this.#member(posts[0]!.author),
      createdAt: new Date(posts[0]!.created_at),
      ...(views !== undefined && { views }),
      ...(pinned !== undefined && { pinned }),
      ...(locked !== undefined && { locked }),
      ...(tags && { fields: { tags } }),
      posts: posts.map((post, at) => ({
        authorId: this.#member(post.author),
        ...texts[at]!,
        createdAt: new Date(post.created_at),
        ...(post.reply_to !== undefined && { replyTo: post.reply_to }),
        fields: {
          reactions: (post.likes ?? []).map((member) => ({
            reaction: 'like',
            user_id: this.#member(member),
            created_at: new Date(post.created_at).toISOString(),
          })),
          is_accepted_answer: post.accepted ?? false,
        },
      })),
    };
  }

  #member(key: Key): string {
    return this.#members.get(keyOf(key))!;
  }
}

async function* linesOf<One extends Line>(path: string, kind: One['kind']): AsyncGenerator<One> {
  for await (const { text } of readLines(path)) {
    const line = readLine(text);
    if (typeof line !== 'string' && line.kind === kind) yield line as One;
  }
}

async function* batches<One>(all: AsyncIterable<One>, size: number): AsyncGenerator<readonly One[]> {
  let batch: One[] = [];
  for await (const one of all) {
    batch.push(one);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
