import type { Settings } from 'parley-forum';
import type { Categories } from 'parley-forum/plugins/discussions';
import { feedPath, FORMATS, XML_FORMATS, type FeedFormat, type FeedTopic } from 'parley-forum/plugins/feeds';
import type { Tags } from 'parley-forum/ports/tags';
import { phrase, type PageFeed, type PageHead } from 'parley-forum/plugins/web';
import { CONTENT_TYPES } from './feed-builder.ts';

interface PageFeedsDeps {
  readonly categories: Categories;
  readonly tags: Tags | undefined;
  readonly settings: Settings;
}
const FORMAT_NAMES: Readonly<Record<FeedFormat, string>> = { rss: 'RSS', atom: 'Atom', json: 'JSON' };

/** The feeds of pages that list discussions. */
export function feedsOfPages({ categories, tags, settings }: PageFeedsDeps): (head: PageHead) => readonly PageFeed[] {
  const topicOf = ({ name, subject = '' }: PageHead): FeedTopic | undefined => {
    if (name === 'home') return { kind: 'all' };
    if (name === 'category')
      return { kind: 'category', slug: categories.all().find(({ id }) => id === subject)?.slug ?? '' };
    if (name === 'profile' && subject) return { kind: 'user', id: subject };
    return name === 'tag' && tags ? { kind: 'tag', id: subject } : undefined;
  };
  return (head) => {
    const topic = topicOf(head);
    if (!topic) return [];
    const title = topic.kind === 'all' ? String(settings.get('site.name')) : head.title;
    const formats: readonly FeedFormat[] = topic.kind === 'all' ? FORMATS : XML_FORMATS;
    return formats.map((format) => ({
      title: phrase('feeds:link', { title, format: FORMAT_NAMES[format] }),
      href: feedPath(format, topic),
      type: CONTENT_TYPES[format],
    }));
  };
}
