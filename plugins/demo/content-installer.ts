import type { Clock } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import type { Answers, Conversations, ImportedConversation } from 'parley-forum/ports/imports';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { Categories, Discussions, ImportedDiscussion, Importer } from 'parley-forum/plugins/discussions';
import type { DemoContent, Progress } from 'parley-forum/plugins/installer';
import { ReactionGenerator } from './demo-reactions.ts';
import { lastVisitOf, ReadingGenerator } from './demo-reading.ts';
import { lengthOf, readContent, type Content } from './content.ts';
import { loginNames, memberEmail, type Logins } from './logins.ts';

/** Default categories of a plain installation that the demo content does not use. */
const UNUSED = ['general', 'help'];
const DAY = 86_400_000;
/** Milliseconds after a post was written when it is bookmarked. */
const KEPT_AFTER = 3_600_000;
/** The number of posts rendered concurrently: enough to keep the renderer busy. */
const RENDERED_AT_ONCE = 16;

type AcceptedContent = Awaited<ReturnType<Importer['acceptContent']>>;

export interface ContentInstallerDeps {
  readonly access: Access;
  readonly accounts: Accounts;
  readonly categories: Categories;
  readonly discussions: Discussions;
  readonly importer: Importer;
  readonly clock: Clock;
  readonly logins: Logins;
  readonly answers: Answers | undefined;
  readonly conversations: Conversations | undefined;
}

/** Imports content/ into a newly installed forum. */
export class ContentInstaller implements DemoContent {
  readonly #deps: ContentInstallerDeps;

  constructor(deps: ContentInstallerDeps) {
    this.#deps = deps;
  }

  async fill(progress: Progress): Promise<void> {
    const content = await readContent();
    progress(`${content.members.length} members`);
    const members = await this.#members(content);
    const categories = await this.#categories(content);
    const { access, discussions, importer } = this.#deps;
    // The import is one transaction: an earlier attempt wrote either everything or nothing.
    const admin = {
      id: [...members.values()][0]!,
      username: content.members[0]!.username,
      group: access.groupOf('admin'),
    };
    if ((await discussions.list({ limit: 1 }, admin)).items.length > 0) return;
    const ready = await this.#rendered(content, { categories, members }, progress);
    await importer.importDiscussions(ready, {
      progress: (done, posts) => progress(`${done} discussions, ${posts} posts written`),
    });
    await this.#deps.conversations?.import(this.#conversations(content, members));
    await this.#reply(content, members);
  }

  async #reply({ replies, discussions: found }: Content, members: ReadonlyMap<string, string>): Promise<void> {
    const { accounts, discussions } = this.#deps;
    for (const { discussion: file, author, content } of replies) {
      const { title, author: starter } = found.find((one) => one.file === file)!;
      const [id, authorId] = [members.get(author)!, members.get(starter)!];
      const viewer = (await accounts.viewers([id])).get(id)!;
      const { items } = await discussions.list({ authorId, limit: 100 }, viewer);
      const discussionId = items.find((one) => one.title === title)!.id;
      await discussions.reply(viewer, { discussionId, content });
    }
  }

  #conversations({ conversations }: Content, members: ReadonlyMap<string, string>): readonly ImportedConversation[] {
    const now = this.#deps.clock.now();
    return conversations.map(({ subject, members: names, messages }) => ({
      subject,
      participants: names.map((name) => ({ userId: members.get(name)!, readAt: new Date(lastVisitOf(name, now)) })),
      messages: messages.map(({ author, sent, content }) => ({
        authorId: members.get(author)!,
        content,
        createdAt: new Date(now - lengthOf(sent)!),
      })),
    }));
  }

  /** Ids by username. Existing accounts, such as the administrator's, are kept; some get a password. */
  async #members({ members }: Content): Promise<ReadonlyMap<string, string>> {
    const { accounts, access, clock, logins } = this.#deps;
    const ids = new Map<string, string>();
    for (const { username } of members) {
      const found = await accounts.findByIdentifier(username);
      if (found) ids.set(username, found.id);
    }
    const missing = members.filter(({ username }) => !ids.has(username));
    const created = await accounts.importAccounts(
      missing.map(({ username, name = '', group, joined_days_ago, bio }) => ({
        username,
        displayName: name,
        bio,
        email: memberEmail(username),
        groupId: access.groupOf(group).id,
        joinedAt: new Date(clock.now() - joined_days_ago * DAY),
      })),
    );
    for (const [at, { username }] of missing.entries()) ids.set(username, created[at]!);
    for (const { username } of missing.filter((member) => loginNames.includes(member.username)))
      await accounts.setPassword(ids.get(username)!, logins.password(username));
    return ids;
  }

  /** Ids by slug. */
  async #categories({ categories: wanted }: Content): Promise<ReadonlyMap<string, string>> {
    const { answers, categories } = this.#deps;
    const existing = new Map(categories.all().map(({ slug, id }) => [slug, id]));
    const ids = new Map<string, string>();
    for (const [position, { asks_for_answers: asks = false, ...category }] of wanted.entries()) {
      const id = existing.get(category.slug);
      const create = category.slug === 'announcements' ? ('staff' as const) : ('members' as const);
      const saved = await categories.save({
        ...category,
        position,
        view: 'everyone',
        create,
        reply: 'members',
        ...(id !== undefined && { id }),
      });
      ids.set(category.slug, saved.id);
      if (asks) await answers?.ask(saved.id, true);
    }
    for (const slug of UNUSED) if (existing.has(slug) && !ids.has(slug)) await categories.remove(existing.get(slug)!);
    return ids;
  }

  async #rendered(
    { discussions: found, bookmarks }: Content,
    {
      categories,
      members,
    }: { readonly categories: ReadonlyMap<string, string>; readonly members: ReadonlyMap<string, string> },
    progress: Progress,
  ): Promise<readonly ImportedDiscussion[]> {
    const texts = found.flatMap(({ posts }) => posts.map(({ content }) => content));
    const accepted = new Map<string, AcceptedContent>();
    for (let at = 0; at < texts.length; at += RENDERED_AT_ONCE) {
      const some = texts.slice(at, at + RENDERED_AT_ONCE);
      for (const [index, text] of (
        await Promise.all(some.map((text) => this.#deps.importer.acceptContent(text)))
      ).entries())
        accepted.set(some[index]!, text);
      progress(`${at + some.length} of ${texts.length} posts rendered`);
    }
    const now = this.#deps.clock.now();
    const generator = new ReactionGenerator(members.values(), now);
    const reading = new ReadingGenerator(members, now);
    return found.map((discussion) => {
      const begin = now - discussion.age;
      const { title, tags, views, pinned, locked } = discussion;
      const posts = discussion.posts.map(({ author, after, content, to }, index) => {
        const post = {
          authorId: members.get(author)!,
          ...accepted.get(content)!,
          createdAt: new Date(begin + after),
          ...(to !== undefined && { replyTo: to }),
        };
        const kept = bookmarks.filter(
          ({ discussion: file, post: number }) => file === discussion.file && number === index + 1,
        );
        const bookmark = kept.map(({ member, note }) => ({
          user_id: members.get(member)!,
          note,
          created_at: new Date(begin + after + KEPT_AFTER).toISOString(),
        }));
        return {
          ...post,
          fields: {
            reactions: generator.reactionsTo(post, index === 0),
            bookmark,
            is_accepted_answer: discussion.answer === index + 1,
          },
        };
      });
      const categoryId = categories.get(discussion.category)!;
      return {
        title,
        categoryId,
        authorId: members.get(discussion.author)!,
        createdAt: new Date(begin),
        views,
        ...(pinned && { pinned }),
        locked,
        posts,
        fields: { tags, last_read_number: reading.marksIn(posts) },
      };
    });
  }
}
