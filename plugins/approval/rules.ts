import { isStaff, type Access, type Viewer } from 'parley-forum/plugins/access';
import { reviewPosts, type Reason } from 'parley-forum/plugins/approval';
import type { Discussions, SentPost } from 'parley-forum/plugins/discussions';

/** Settings of this plugin. */
interface ApprovalSettings {
  readonly 'approval.first_posts': number;
  readonly 'approval.links': number;
  readonly 'approval.links_until': number;
  readonly 'approval.words': readonly string[];
}
interface RulesDeps {
  readonly access: Access;
  readonly discussions: Pick<Discussions, 'postCounts'>;
  readonly settings: ApprovalSettings;
  readonly baseUrl: string;
}

/** Decides which posts are held. */
export class Rules {
  readonly #deps: RulesDeps;

  constructor(deps: RulesDeps) {
    this.#deps = deps;
  }

  /** Whether any post may be held. */
  get active(): boolean {
    const { settings } = this.#deps;
    return (
      settings['approval.first_posts'] > 0 || settings['approval.links'] > 0 || settings['approval.words'].length > 0
    );
  }

  /** Staff are exempt, even while they lack a second factor, and so is anybody else who reviews posts. */
  concerns(viewer: Viewer): boolean {
    const { access } = this.#deps;
    const staff = isStaff(viewer) || viewer.requirement !== undefined;
    return this.active && viewer.id !== undefined && !staff && !access.allows(viewer, reviewPosts);
  }

  /** Undefined if the post is to be published right away. Queries the database only if the number of posts matters. */
  async reasonToHold(post: SentPost): Promise<Reason | undefined> {
    const { discussions, settings, baseUrl } = this.#deps;
    if (!this.concerns(post.author)) return undefined;
    if (hasWord(post, settings['approval.words'])) return 'words';
    const first = settings['approval.first_posts'];
    const links = settings['approval.links'];
    const linked = links > 0 && countLinks(post.html, baseUrl) >= links;
    if (first === 0 && !linked) return undefined;
    const authorId = post.author.id!;
    const count = (await discussions.postCounts([authorId])).get(authorId) ?? 0;
    if (count < first) return 'first_posts';
    return linked && count < settings['approval.links_until'] ? 'links' : undefined;
  }
}

/** The visible text of HTML; formatting within a word does not split it. */
const textOf = (html: string): string => html.replace(/<[^>]*>/g, '');

/** Words in normalized form for comparison: lower case, without invisible characters, with one space around each. */
const wordsOf = (text: string): string =>
  ` ${(
    text
      .normalize('NFKC')
      .replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  ).join(' ')} `;

/** Whether the title, or the text as typed or as displayed, contains one of the words or phrases as a whole. */
function hasWord({ title, content, html }: SentPost, words: readonly string[]): boolean {
  if (words.length === 0) return false;
  const wanted = words.map(wordsOf).filter((word) => word.trim() !== '');
  return [title, content, textOf(html)].map(wordsOf).some((text) => wanted.some((word) => text.includes(word)));
}

/** The number of links to other sites in a post. */
const countLinks = (html: string, baseUrl: string): number =>
  [...html.matchAll(/<a [^>]*?href="(https?:\/\/[^"]*)"/gi)].filter(
    ([, href = '']) => href !== baseUrl && !href.startsWith(`${baseUrl}/`),
  ).length;
