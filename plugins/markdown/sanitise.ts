import sanitizeHtml, { type Attributes, type IOptions } from 'sanitize-html';
import { EXTERNAL_REL, imageSource, linkTarget, type UrlRules } from './url-rules.ts';

const DIRECTION = { name: 'dir', multiple: false, values: ['auto', 'ltr', 'rtl'] };
const FOCUSABLE = { name: 'tabindex', multiple: false, values: ['0'] };
/** Pixels of an image. */
const PIXELS = /^[1-9]\d{0,4}$/;
const BLOCKS = ['p', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'ul', 'li', 'hr', 'table', 'td', 'th'];

const ALLOWED: IOptions = {
  allowedTags: [
    'p',
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
    'pre',
    'code',
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
  // No id, no name, no style: a text can neither shadow what scripts look for nor dress up as the page.
  allowedAttributes: {
    ...Object.fromEntries(BLOCKS.map((tag) => [tag, [DIRECTION]])),
    a: ['href', 'rel', 'title'],
    img: ['src', 'alt', 'title', 'loading', 'decoding', 'width', 'height'],
    ol: ['start', DIRECTION],
    pre: [DIRECTION, FOCUSABLE],
    table: [DIRECTION, FOCUSABLE],
  },
  allowedClasses: {
    a: ['mention'],
    code: ['language-*'],
    span: ['code-comment', 'code-string', 'code-number', 'code-keyword'],
    td: ['align-left', 'align-center', 'align-right'],
    th: ['align-left', 'align-center', 'align-right'],
  },
  allowedSchemes: ['http', 'https', 'mailto'],
  allowProtocolRelative: false,
  // Text inside these is not text to a browser, so it is not kept as text either.
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

/** The last step of every text, and the only place where HTML is checked. Applying it twice changes nothing. */
export function createSanitiser(rules: UrlRules): (html: string) => string {
  const link = (
    tagName: string,
    { href, rel: _rel, ...rest }: Attributes,
  ): { tagName: string; attribs: Attributes } => {
    const target = href === undefined ? undefined : linkTarget(href, rules);
    if (!target) return { tagName, attribs: rest };
    return { tagName, attribs: { href: target.href, ...(target.external ? { rel: EXTERNAL_REL } : {}), ...rest } };
  };
  const image = (
    tagName: string,
    { src, alt = '', title, width = '', height = '' }: Attributes,
  ): { tagName: string; attribs: Attributes } => {
    const source = src === undefined ? undefined : imageSource(src, rules);
    if (source === undefined) return { tagName, attribs: {} };
    return {
      tagName,
      attribs: {
        src: source,
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
    transformTags: { a: link, img: image },
    exclusiveFilter: ({ tag, attribs }) => tag === 'img' && attribs['src'] === undefined,
  };
  return (html) => sanitizeHtml(html, options);
}
