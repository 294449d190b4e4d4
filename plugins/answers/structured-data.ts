import type { PluginHandle } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import { discussionStructuredData, type Discussions, type StructuredData } from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';
import type { AnswerStore } from './answer-store.ts';

export interface StructuredDataDeps {
  readonly access: Pick<Access, 'guest'>;
  readonly discussions: Pick<Discussions, 'posts'>;
  readonly markdown: Pick<Markdown, 'excerpt'>;
  readonly store: AnswerStore;
}
/** The length of the answer's excerpt for search engines, in characters. */
const EXCERPT = 500;

/** Discussions of categories that ask for answers are described as a QAPage. Search engines see what guests see. */
export function questionPages(
  plugin: PluginHandle,
  { access, discussions, markdown, store }: StructuredDataDeps,
): void {
  plugin.on(discussionStructuredData, async (made, { discussion }) => {
    if (!(await store.categories()).has(discussion.category_id)) return made;
    const { '@context': context, headline, text, url, datePublished, dateModified, author, comment, image } = made;
    const [answer] = await store.ofDiscussions([discussion.id]);
    const [post] = answer ? await discussions.posts([answer.postId], access.guest) : [];
    const accepted = post && {
      '@type': 'Answer',
      text: markdown.excerpt(post.content, EXCERPT),
      url: new URL(`/d/${discussion.number}/${post.number}#post-${post.number}`, discussion.url).href,
      datePublished: post.created_at,
      author: {
        '@type': 'Person',
        name: post.author.display_name ?? post.author.username,
        url: new URL(`/u/${encodeURIComponent(post.author.username)}`, discussion.url).href,
      },
    };
    const others = (comment as readonly StructuredData[]).filter(({ position }) => position !== post?.number);
    return {
      '@context': context,
      '@type': 'QAPage',
      mainEntity: {
        '@type': 'Question',
        name: headline,
        text,
        url,
        datePublished,
        dateModified,
        author,
        ...(image !== undefined && { image }),
        answerCount: discussion.reply_count,
        ...(accepted && { acceptedAnswer: accepted }),
        suggestedAnswer: others.map((one) => ({ ...one, '@type': 'Answer' })),
      },
    };
  });
}
