import { Type } from 'parley-forum';
import { ROOT_THEME } from './themes/themes.ts';

/**
 * Name, language and appearance of the site and limits of its pages. Read live: changes take effect without a restart.
 */
export const webSettings = Type.Object({
  'site.name': Type.String({ default: 'Parley', minLength: 1, maxLength: 60, title: 'Name', 'x-group': 'site' }),
  'site.description': Type.String({
    default: '',
    maxLength: 300,
    title: 'Description',
    description: 'One sentence for search engines, feeds and guests on the home page.',
    'x-group': 'site',
  }),
  'site.picture': Type.String({
    default: '',
    maxLength: 500,
    pattern: '^(|/[^/\\\\\\s][^\\s]*|https://[^\\s]+)$',
    'x-pattern-problem': 'must be a path of this site, such as /uploads/harbour.png, or an https address',
    title: 'Picture for links',
    'x-group': 'site',
    description:
      'Shown where a link to the forum is shared: a path of this site or an https address of a PNG or JPEG of 1200 by 630 pixels. Empty: the theme’s.',
  }),
  'site.icon': Type.String({
    default: '',
    maxLength: 500,
    pattern: '^(|/[^/\\\\\\s][^\\s]*)$',
    'x-pattern-problem': 'must be a path of this site, such as /uploads/icon.png',
    title: 'Icon',
    'x-group': 'appearance',
    description:
      'Shown in the bar, in browser tabs and on phones’ home screens: the path on this site of a square picture, ideally 512 by 512 pixels. Upload it under “Files” in your settings and copy its address. Empty: the first letter of the name, and the theme’s picture.',
  }),
  'site.accent': Type.String({
    default: '',
    pattern: '^(|#[0-9a-fA-F]{6})$',
    'x-pattern-problem': 'must be a colour such as #1d6f8a',
    title: 'Accent colour',
    'x-group': 'appearance',
    description:
      'Used for buttons and selected items, as #rrggbb. Adjusted where contrast would be too low. Empty: the theme’s.',
  }),
  'site.locale': Type.String({
    default: 'en',
    title: 'Language',
    description: 'For visitors whose own language is not available.',
    'x-group': 'site',
  }),
  'site.timezone': Type.String({
    default: 'UTC',
    maxLength: 64,
    title: 'Time zone',
    description: 'For example Europe/Lisbon: used for times where the reader’s own time zone is not known.',
    'x-group': 'site',
  }),
  'pages.part_deadline': Type.Integer({
    default: 50,
    minimum: 10,
    maximum: 5_000,
    title: 'Time limit for parts of a page, in milliseconds',
    'x-group': 'limits',
    description:
      'A part that a plugin adds to a page is left out if it takes longer. Time in which the process or the database is busy with other requests does not count.',
  }),
  'pages.rate_limit': Type.Integer({
    default: 60,
    minimum: 1,
    title: 'Forms per minute and address',
    'x-group': 'limits',
    description: 'Forms one network address may send; IPv6 is counted per /64. Moderators may send five times as many.',
  }),
  'site.theme': Type.String({
    default: ROOT_THEME,
    title: 'Theme',
    'x-group': 'appearance',
    description: 'A folder in themes/. A theme that breaks the rules is rejected.',
  }),
});
