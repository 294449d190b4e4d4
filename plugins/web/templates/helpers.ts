import { hash as digest } from 'node:crypto';
import { groupText, type Group } from 'parley-forum/plugins/access';
import { csrfField, html, SafeHtml } from '../api.ts';
import { relativeUntil, type Locale } from '../themes/locales.ts';

/** What the current render gives its helpers. Rendering is synchronous, so one at a time. */
export interface RenderScope {
  readonly locale: Locale;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly regions: Map<string, string>;
  /** Tells until when something is true that was just rendered, in epoch milliseconds. */
  trueUntil(moment: number): void;
  asset(name: string): string;
  icon(name: string): string | undefined;
  /** Leaves a placeholder that is filled after rendering, for all slots of the page at once. */
  slot(id: string, context: unknown, fallback: string | undefined): SafeHtml;
  head(): SafeHtml;
  foot(): SafeHtml;
}

interface HelperOptions {
  /** The `name=value` pairs of the call. */
  readonly hash: Readonly<Record<string, unknown>>;
  /** Renders what is inside the block, for calls that are one. */
  fn?(): string;
}
export type Helpers = Readonly<Record<string, (this: unknown, ...args: any[]) => unknown>>;

const SCHEMES = /^(https?:|mailto:|#|\?|\/(?!\/)|\.\.?\/)/i;

/**
 * A link that is safe to print: a path of this site, or an http, https or mailto URL; anything else becomes "#".
 */
function safeUrl(value: unknown): string {
  const text = String(value ?? '');
  return SCHEMES.test(text) && !text.includes('\\') ? text : '#';
}

/** One of the 24 hue classes; nothing where there is no hue. */
const hueClass = (hue: unknown): string =>
  typeof hue === 'number' ? `hue-${(((Math.round(hue / 15) * 15) % 360) + 360) % 360}` : '';

const hueOf = (name: string): number => (digest('sha1', name, 'buffer')[0] ?? 0) * 15;

/** Text for inside a script element: no character in it can end the element or the string. */
export const safeJson = (value: unknown): SafeHtml =>
  new SafeHtml(
    JSON.stringify(value ?? null).replace(
      /[<>&\u2028\u2029]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  );

const toDate = (value: unknown): Date | undefined => {
  const date = value instanceof Date ? value : new Date(String(value));
  return value === undefined || value === null || Number.isNaN(date.getTime()) ? undefined : date;
};

const truthy = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value));
const textOf = (value: unknown): string => (value === undefined || value === null ? '' : String(value));

const FORM_ATTRIBUTES = new Set([
  'class',
  'id',
  'role',
  'name',
  'autocomplete',
  'aria-label',
  'data-enhance',
  'enctype',
]);

interface Person {
  readonly username?: string;
  readonly display_name?: string | null;
  readonly avatar_url?: string | null;
}

/** Every helper templates may call; `scope` returns the state of the current render. README.md documents each. */
export function createHelpers(scope: () => RenderScope): Helpers {
  const sized = (value: unknown): string =>
    ['sm', 'lg', 'xl'].includes(String(value)) ? ` avatar-${String(value)}` : '';
  const shape = (name: unknown): SafeHtml | undefined => {
    const path = scope().icon(String(name));
    return path === undefined ? undefined : html`<path d="${path}"/>`;
  };
  const icon = (name: unknown, { hash }: HelperOptions): SafeHtml => {
    const kind = hash['flip'] ? 'icon icon-flip' : 'icon';
    if (hash['use']) return html`<svg class="${kind}" aria-hidden="true"><use href="#icon-${name}"/></svg>`;
    const drawn = shape(name);
    return drawn ? html`<svg class="${kind}" viewBox="0 0 24 24" aria-hidden="true">${drawn}</svg>` : new SafeHtml('');
  };
  const moment = (value: unknown, show: (date: Date) => string, relative: boolean): SafeHtml => {
    const date = toDate(value);
    if (!date) return new SafeHtml('');
    const { locale } = scope();
    return html`<time datetime="${date.toISOString()}" title="${locale.date(date)}"${relative ? new SafeHtml(' data-relative') : ''}>${show(date)}</time>`;
  };
  return {
    /** `t "owner:key" name=value`: a text in the language of the page, with the values put in; what is no key stays as it is. */
    t: (key: unknown, { hash }: HelperOptions) => scope().locale.text(String(key), hash),
    /** `plural "owner:key" count name=value`: a text in the form that the count asks for. */
    plural: (key: unknown, count: unknown, { hash }: HelperOptions) =>
      scope().locale.text(String(key), { ...hash, count: Number(count) }),
    /** `num count`: a number as the language writes it. */
    num: (value: unknown) => (value === undefined || value === null ? '' : scope().locale.number(Number(value))),
    /** `time date date=true`: date and time, or the day alone, in the zone of the site. */
    time: (value: unknown, { hash }: HelperOptions) =>
      moment(value, (date) => (hash['date'] ? scope().locale.day(date) : scope().locale.date(date)), false),
    /** `rel date`: how long ago it was; scripts keep it true. */
    rel: (value: unknown) =>
      moment(
        value,
        (date) => {
          const { locale, now, trueUntil } = scope();
          trueUntil(relativeUntil(date, now));
          return locale.relative(date, now);
        },
        true,
      ),
    /** `iso date`: ISO 8601 in UTC. */
    iso: (value: unknown) => toDate(value)?.toISOString() ?? '',
    /** `url "/c/" slug "new" page=2`: a URL: the first part as it is, the others encoded with `/` between them, named ones as the query. */
    url: (...args: unknown[]) => {
      const { hash } = args.at(-1) as HelperOptions;
      const [first, ...parts] = args.slice(0, -1);
      const given = Object.entries(hash).map(([key, value]): [string, string] => [key, textOf(value)]);
      const query = new URLSearchParams(given.filter(([, value]) => value !== ''));
      const path = safeUrl(`${textOf(first)}${parts.map((part) => encodeURIComponent(textOf(part))).join('/')}`);
      return query.size > 0 ? `${path}${path.includes('?') ? '&' : '?'}${query}` : path;
    },
    /** `asset "img/x.svg"`: the URL of a file of the theme, or of a plugin as `@boats/x.png`. */
    asset: (name: unknown) => scope().asset(String(name)),
    /** `icon "search" flip=true`: an icon of the theme’s icons.json; `flip` mirrors it where the language runs from right to left, `use` shows what `icons` drew. */
    icon,
    /** `icons "reply" "more"`: draws icons once for all of the page that are `{{icon "reply" use=true}}`. */
    icons: (...args: unknown[]) => {
      const symbols = args
        .slice(0, -1)
        .map((name) => html`<symbol id="icon-${name}" viewBox="0 0 24 24">${shape(name) ?? ''}</symbol>`);
      return html`<svg hidden>${symbols}</svg>`;
    },
    /** `hue 205`: the class of one of 24 hues. */
    hue: (value: unknown) => hueClass(value),
    /** `avatar person size="lg"`: the picture or the initial of a member; size is sm, lg or xl. */
    avatar: (person: Person | undefined, { hash }: HelperOptions) => {
      const name = person?.username ?? '?';
      if (person?.avatar_url)
        return html`<img class="avatar${sized(hash['size'])}" src="${safeUrl(person.avatar_url)}" alt="" width="40" height="40" loading="lazy" decoding="async">`;
      const letter = [...name.replace(/[^\p{L}\p{N}]/gu, '')][0] ?? '?';
      return html`<span class="avatar avatar-letter ${hueClass(hueOf(name))}${sized(hash['size'])}" aria-hidden="true">${letter.toLocaleUpperCase()}</span>`;
    },
    /** `person author handle=true`: the name of a member, with the username in its title; `handle` shows that beside a name of their own choice, `text` makes it text for a sentence. */
    person: (person: Person | undefined, { hash }: HelperOptions) => {
      const { username = '', display_name: name } = person ?? {};
      if (hash['text']) return name ? `${name} (@${username})` : username;
      if (!name) return html`<bdi>${username}</bdi>`;
      const handle = hash['handle'] ? html` <bdi class="handle">@${username}</bdi>` : '';
      return html`<bdi title="@${username}">${name}</bdi>${handle}`;
    },
    /** `groupName user.group`: the name of a group; the first ones', as long as nobody has renamed them, in the language of the page. */
    groupName: (group: Pick<Group, 'id' | 'name'> | undefined) => {
      const text = group && groupText(group);
      return text === undefined ? (group?.name ?? '') : scope().locale.text(text);
    },
    /** `eq a b`: whether both are equal as text. */
    eq: (a: unknown, b: unknown) =>
      a === b || (a !== undefined && a !== null && b !== undefined && b !== null && String(a) === String(b)),
    /** `not value`: whether it is empty, false or absent. */
    not: (value: unknown) => !truthy(value),
    /** `and a b`: the first that is empty or false, else the last. */
    and: (...args: unknown[]) =>
      args.slice(0, -1).find((value) => !truthy(value)) ?? (args.slice(0, -1).every(truthy) ? args.at(-2) : false),
    /** `or a b`: the first that is neither empty nor false. */
    or: (...args: unknown[]) => args.slice(0, -1).find(truthy),
    /** `gt a b`: whether the first number is greater. */
    gt: (a: unknown, b: unknown) => Number(a) > Number(b),
    /** `has list item`: whether a list has an item, or an object a key. */
    has: (list: unknown, item: unknown) =>
      Array.isArray(list)
        ? list.includes(item)
        : typeof list === 'object' && list !== null && Object.hasOwn(list, String(item)),
    /** `list a b`: a list for a partial, without what is absent. */
    list: (...args: unknown[]) =>
      args.slice(0, -1).filter((value) => value !== undefined && value !== null && value !== false),
    /** `object key=value`: an object for a partial. */
    object: ({ hash }: HelperOptions) => ({ ...hash }),
    /** `truncate text 80`: a text of at most so many characters. */
    truncate: (value: unknown, length: unknown) => {
      const characters = [...textOf(value)];
      return characters.length <= Number(length)
        ? textOf(value)
        : `${characters
            .slice(0, Number(length) - 1)
            .join('')
            .trimEnd()}…`;
    },
    /** `json value`: data inside a script element of type `application/json`. */
    json: (value: unknown) => safeJson(value),
    /** `csrf`: the hidden field with the forgery token; `form` adds it by itself. */
    csrf: () => csrfField,
    /** `#form "/path" class="…" data-enhance=true`: a POST form with its forgery token; `data-enhance` sends it without leaving the page, and with the value `stay` it is not left afterwards either. `opened=values`: what the form begins with, so that what nobody touches in it stays as others make it meanwhile. */
    form: function (this: unknown, action: unknown, { hash, fn }: HelperOptions) {
      const attributes = Object.entries(hash).filter(([key]) => FORM_ATTRIBUTES.has(key));
      const shown = attributes.map(([key, value]) =>
        value === undefined || value === false ? '' : html` ${key}="${value === true ? '' : value}"`,
      );
      const inner = new SafeHtml(fn?.() ?? '');
      const opened =
        hash['opened'] === undefined ? '' : html`<input type="hidden" name="_opened" value="${hash['opened']}">`;
      return html`<form method="post" action="${safeUrl(action)}"${shown}>${csrfField}${opened}${inner}</form>`;
    },
    /** `slot "id" context`: what plugins put into the slot, whose id is written out; as a block, what stands there where they put nothing. */
    slot: function (this: unknown, id: unknown, ...rest: unknown[]) {
      const { fn } = rest.at(-1) as HelperOptions;
      const context = rest.length > 1 ? rest[0] : this;
      return scope().slot(String(id), context, fn?.());
    },
    /** `#region "rail"`: moves its content to where the layout has the region; without a block, prints it there. */
    region: function (this: unknown, name: unknown, { fn }: HelperOptions) {
      const { regions } = scope();
      if (!fn) return new SafeHtml(regions.get(String(name)) ?? '');
      regions.set(String(name), `${regions.get(String(name)) ?? ''}${fn()}`);
      return '';
    },
    /** `head`: what stands in the head of every page; for the layout. */
    head: () => scope().head(),
    /** `foot`: what scripts need at the end of every page; for the layout. */
    foot: () => scope().foot(),
  };
}
