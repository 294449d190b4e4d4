import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import type { Shortcut } from 'parley-forum/plugins/web';

const member = (viewer: Viewer): boolean => !isGuest(viewer);

/** Keyboard shortcuts of lists and discussions. */
export const keysOf = (mayStart: (viewer: Viewer) => boolean): readonly Shortcut[] => [
  {
    id: 'discussions.new',
    keys: 'c',
    label: 'discussions:new.title',
    area: 'everywhere',
    href: '/new',
    visible: mayStart,
  },
  { id: 'discussions.open', keys: 'o', label: 'discussions:keys.open', area: 'lists', press: '.card-title a' },
  {
    id: 'discussions.first',
    keys: 't',
    label: 'discussions:keys.first',
    area: 'posts',
    press: '.position nav [data-number="1"]',
    post: 'first',
  },
  {
    id: 'discussions.last',
    keys: 'L',
    label: 'discussions:keys.last',
    area: 'posts',
    press: '.position nav [data-number]:not([data-number="1"])',
    post: 'last',
  },
  {
    id: 'discussions.reply',
    keys: 'r',
    label: 'discussions:keys.reply',
    area: 'posts',
    press: '.post-actions a[href*="/reply?to="], .dock a, #reply textarea',
    visible: member,
  },
  {
    id: 'discussions.quote',
    keys: 'q',
    label: 'discussions:keys.quote',
    area: 'posts',
    press: '.quote-offer button, a[href*="/reply?quote="]',
    inMenu: true,
    visible: member,
  },
  {
    id: 'discussions.edit',
    keys: 'e',
    label: 'discussions:keys.edit',
    area: 'posts',
    press: 'a[href^="/p/"][href$="/edit"]',
    inMenu: true,
    visible: member,
  },
  {
    id: 'discussions.menu',
    keys: 'm',
    label: 'discussions:keys.menu',
    area: 'posts',
    press: '.post a[data-menu]',
    visible: member,
  },
];
