import type { Settings } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { isId } from 'parley-forum/plugins/api';
import type { Categories, ListRequest } from 'parley-forum/plugins/discussions';
import type { FeedReader, FeedTopic } from 'parley-forum/plugins/feeds';
import type { Tags } from 'parley-forum/ports/tags';
import type { Web } from 'parley-forum/plugins/web';

/** A feed that its reader may see. */
export interface Topic {
  readonly about: FeedTopic;
  readonly reader: FeedReader;
  readonly title: string;
  readonly description: string;
  /** The path of the page with the same content. */
  readonly page: string;
  readonly request: Pick<ListRequest, 'category' | 'authorId' | 'within'>;
}

interface TopicsDeps {
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'find' | 'idsByUsername'>;
  readonly categories: Categories;
  readonly tags: Tags | undefined;
  readonly settings: Settings;
  readonly web: Web;
}

/** Finds the topics of feeds; `undefined` if a topic does not exist or the reader may not see it. */
export class Topics {
  readonly #deps: TopicsDeps;

  constructor(deps: TopicsDeps) {
    this.#deps = deps;
  }

  all(reader: FeedReader): Topic {
    return {
      about: { kind: 'all' },
      reader,
      title: this.#site,
      description: this.#description,
      page: '/',
      request: {},
    };
  }

  async category(slug: string, reader: FeedReader): Promise<Topic | undefined> {
    const { access, categories } = this.#deps;
    await categories.refresh();
    const category = categories.all().find((one) => one.slug === slug);
    if (!category) return undefined;
    const viewer = reader.categoryIds?.includes(category.id) === false ? access.guest : reader.viewer;
    if (!categories.find(category.id, viewer)) return undefined;
    return {
      about: { kind: 'category', slug },
      reader: { viewer },
      request: { category },
      page: `/c/${encodeURIComponent(slug)}`,
      title: this.#title('category', category.name),
      description: category.description || this.#description,
    };
  }

  /** By id or username. */
  async user(given: string, reader: FeedReader): Promise<Topic | undefined> {
    const { accounts } = this.#deps;
    const name = given.toLowerCase();
    const id = isId(given) ? given : (await accounts.idsByUsername([name])).get(name);
    const account = id === undefined ? undefined : await accounts.find(id);
    if (!account) return undefined;
    const { id: authorId, username } = account;
    return {
      about: { kind: 'user', id: authorId },
      reader,
      request: { authorId },
      page: `/u/${encodeURIComponent(username)}`,
      title: this.#title('user', username),
      description: this.#description,
    };
  }

  async tag(id: string, reader: FeedReader): Promise<Topic | undefined> {
    const { tags } = this.#deps;
    const tag = await tags?.find(id, reader.viewer, reader.categoryIds);
    if (!tags || !tag) return undefined;
    return {
      about: { kind: 'tag', id: tag.id },
      reader,
      request: { within: tags.discussionsWith(tag.id) },
      page: `/t/${encodeURIComponent(tag.slug)}`,
      title: this.#title('tag', tag.name),
      description: this.#description,
    };
  }

  get #site(): string {
    return String(this.#deps.settings.get('site.name'));
  }

  get #description(): string {
    return String(this.#deps.settings.get('site.description')) || this.#deps.web.text('feeds:text');
  }

  #title(kind: 'category' | 'user' | 'tag', name: string): string {
    return this.#deps.web.text(`feeds:${kind}`, { name, site: this.#site });
  }
}
