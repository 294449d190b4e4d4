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
    description: 'One sentence for search engines, feeds and guests of the front page.',
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
      'Shown in the bar, in browsers’ tabs and on phones’ home screens: the path on this site of a square picture, 512 by 512 pixels at best. Whoever may upload files does so among their settings, under “Files”, and copies its address. Empty: the first letter of the name, and the theme’s picture.',
  }),
  'site.accent': Type.String({
    default: '',
    pattern: '^(|#[0-9a-fA-F]{6})$',
    'x-pattern-problem': 'must be a colour such as #1d6f8a',
    title: 'Accent colour',
    'x-group': 'appearance',
    description:
      'Of buttons and of what is chosen, as #rrggbb. It is made darker or lighter where it could not be read otherwise. Empty: the theme’s.',
  }),
  'site.locale': Type.String({
    default: 'en',
    title: 'Language',
    description: 'For visitors whose own language is not offered.',
    'x-group': 'site',
  }),
  'site.timezone': Type.String({
    default: 'UTC',
    maxLength: 64,
    title: 'Time zone',
    description: 'Such as Europe/Lisbon: in which pages tell times where no script shows the reader’s own.',
    'x-group': 'site',
  }),
  'pages.part_deadline': Type.Integer({
    default: 50,
    minimum: 10,
    maximum: 5_000,
    title: 'Milliseconds for a part of a page',
    'x-group': 'limits',
    description:
      'What another plugin adds to a page and is slower is left out of it. The time in which the process or the database is busy with others does not count.',
  }),
  'pages.rate_limit': Type.Integer({
    default: 60,
    minimum: 1,
    title: 'Forms a minute and address',
    'x-group': 'limits',
    description: 'How many forms one network address may send; IPv6 is counted per /64. Moderators five times as many.',
  }),
  'site.theme': Type.String({
    default: ROOT_THEME,
    title: 'Theme',
    'x-group': 'appearance',
    description: 'A folder in themes/. One that breaks the rules is refused.',
  }),
});
