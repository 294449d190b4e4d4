import sanitizeHtml, { type Attributes, type IOptions } from 'sanitize-html';
import { FOOTNOTE_ID } from './syntax/footnotes.ts';
import { EXTERNAL_REL, imageSource, linkTarget, type UrlRules } from './url-rules.ts';

const DIRECTION = { name: 'dir', multiple: false, values: ['auto', 'ltr', 'rtl'] };
const FOCUSABLE = { name: 'tabindex', multiple: false, values: ['0'] };
/** Width or height of an image in pixels. */
const PIXELS = /^[1-9]\d{0,4}$/;
/** The displayed width of images: that of the text column, which fills narrow windows. */
const SIZES = '(min-width: 48rem) 44rem, 100vw';
const CANDIDATE = /^(\S+) [1-9]\d{0,4}w$/;
const BLOCKS = ['p', 'div', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'ul', 'hr', 'table', 'td', 'th', 'figure', 'details'];
/** Roles of footnotes and tables; a text cannot pose as another part of the page. */
const ROLES = ['doc-noteref', 'doc-backlink', 'doc-endnotes', 'region'];

const ALLOWED: IOptions = {
  allowedTags: [
    'p',
    'div',
    'br',
    'hr',
    'h3',
    'h4',
    'h5',
    'h6',
    'blockquote',
    'ul',
    'ol',
    'li',
    'label',
    'input',
    'figure',
    'figcaption',
    'x-copy',
    'pre',
    'code',
    'details',
    'summary',
    'section',
    'sup',
    'em',
    'strong',
    's',
    'span',
    'a',
    'img',
    'table',
    'thead',
    'tbody',
    'tr',
    'th',
    'td',
  ],
  // No ids except those of footnotes, no name, no style: a text can neither clobber elements that scripts look up nor
  // imitate the page.
  allowedAttributes: {
    ...Object.fromEntries(BLOCKS.map((tag) => [tag, [DIRECTION]])),
    a: ['href', 'rel', 'title', 'id', 'role'],
    div: [DIRECTION, FOCUSABLE, 'role', 'aria-label'],
    input: ['type', 'disabled', 'checked'],
    li: ['id', DIRECTION],
    section: ['role'],
    img: ['src', 'srcset', 'sizes', 'alt', 'title', 'loading', 'decoding', 'width', 'height'],
    ol: ['start', DIRECTION],
    pre: [DIRECTION, FOCUSABLE],
    table: [DIRECTION, FOCUSABLE],
  },
  allowedClasses: {
    a: ['mention', 'picture', 'footnote', 'footnote-back'],
    code: ['language-*'],
    details: ['spoiler', 'words'],
    div: ['table-scroll'],
    figure: ['code'],
    li: ['task'],
    section: ['footnotes'],
    span: [
      'code-comment',
      'code-keyword',
      'code-string',
      'code-number',
      'code-name',
      'code-type',
      'code-attribute',
      'code-addition',
      'code-deletion',
    ],
    td: ['align-left', 'align-center', 'align-right'],
    th: ['align-left', 'align-center', 'align-right'],
  },
  allowedSchemes: ['http', 'https', 'mailto'],
  allowProtocolRelative: false,
  // Browsers do not show the content of these elements as text, so it is removed with them.
  nonTextTags: [
    'script',
    'style',
    'textarea',
    'option',
    'noscript',
    'iframe',
    'noembed',
    'noframes',
    'xmp',
    'plaintext',
    'title',
    'svg',
    'math',
    'template',
  ],
  nestingLimit: 100,
};

/** The last step of every text, and the only place where HTML is checked. Idempotent. */
export function createSanitiser(rules: UrlRules): (html: string) => string {
  const link = (
    tagName: string,
    { href, rel: _rel, ...rest }: Attributes,
  ): { tagName: string; attribs: Attributes } => {
    if (href?.startsWith('#') && FOOTNOTE_ID.test(href.slice(1))) return { tagName, attribs: { href, ...rest } };
    const target = href === undefined ? undefined : linkTarget(href, rules);
    if (!target) return { tagName, attribs: rest };
    return { tagName, attribs: { href: target.href, ...(target.external ? { rel: EXTERNAL_REL } : {}), ...rest } };
  };
  const image = (
    tagName: string,
    { src, srcset, alt = '', title, width = '', height = '' }: Attributes,
  ): { tagName: string; attribs: Attributes } => {
    const source = src === undefined ? undefined : imageSource(src, rules);
    if (source === undefined) return { tagName, attribs: {} };
    return {
      tagName,
      attribs: {
        src: source,
        ...(srcset !== undefined && isPermitted(srcset, rules) && { srcset, sizes: SIZES }),
        alt,
        ...(title === undefined ? {} : { title }),
        ...(PIXELS.test(width) && PIXELS.test(height) ? { width, height } : {}),
        loading: 'lazy',
        decoding: 'async',
      },
    };
  };
  const options: IOptions = {
    ...ALLOWED,
    transformTags: {
      '*': knownNames,
      a: link,
      img: image,
      input: taskBox,
    },
    exclusiveFilter: ({ tag, attribs }) =>
      (tag === 'img' && attribs['src'] === undefined) || (tag === 'input' && attribs['type'] === undefined),
  };
  return (html) => sanitizeHtml(html, options);
}

/** Removes ids other than those of footnotes, and roles that are not allowed. */
const knownNames = (tagName: string, attribs: Attributes): { tagName: string; attribs: Attributes } => ({
  tagName,
  attribs: Object.fromEntries(
    Object.entries(attribs).filter(
      ([name, value]) => (name !== 'id' || FOOTNOTE_ID.test(value)) && (name !== 'role' || ROLES.includes(value)),
    ),
  ),
});

/** Whether all other sizes of an image may be shown. */
const isPermitted = (srcset: string, rules: UrlRules): boolean =>
  srcset.split(', ').every((candidate) => {
    const url = CANDIDATE.exec(candidate)?.[1];
    return url !== undefined && imageSource(url, rules) === url;
  });

/** A disabled check box that shows whether a task is done; it is never submitted. */
function taskBox(tagName: string, { type, checked }: Attributes): { tagName: string; attribs: Attributes } {
  if (type !== 'checkbox') return { tagName, attribs: {} };
  return { tagName, attribs: { type, disabled: 'disabled', ...(checked !== undefined && { checked: 'checked' }) } };
}
