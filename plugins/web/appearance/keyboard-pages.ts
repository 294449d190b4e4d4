import { InvalidInput, Type, type Http, type PluginHandle, type Request } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import {
  formErrors,
  navigation,
  negotiated,
  pages,
  phrase,
  redirect,
  shortcuts,
  view,
  type Retry,
  type Shortcut,
  type View,
} from '../api.ts';
import type { Locale } from '../themes/locales.ts';
import { fieldOf, keyProblems, readOwnKeys, withOwnKeys, writeOwnKeys, type OwnKeys } from './own-keys.ts';
import { readPreferences } from './preferences.ts';

const PAGE = '/keyboard';
const SETTINGS = '/settings/keyboard';
const AREAS = ['everywhere', 'lists', 'posts', 'queues'] as const;
const Keys = Type.Object({
  keys: Type.Optional(Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 16 }))),
  reset: Type.Optional(Type.Boolean()),
});
/** Trims and collapses whitespace: `G  n ` becomes `G n`. */
const withSingleSpaces = (keys: string): string => keys.trim().replace(/\s+/g, ' ');

/**
 * The keyboard shortcuts: a page that lists them, as JSON for scripts too, and a form that changes them on this device.
 */
export function addKeyboard(plugin: PluginHandle, http: Http, localeOf: (req: Request) => Locale): void {
  plugin.extend(navigation, { area: 'footer', label: 'web:keyboard', href: PAGE }, 90);
  plugin.extend(navigation, { area: 'settings', label: 'web:keyboard', href: SETTINGS });
  for (const shortcut of OWN) plugin.extend(shortcuts, shortcut);

  const offered = (actor: Viewer): readonly Shortcut[] =>
    plugin
      .extensions(shortcuts)
      .map(({ value }) => value)
      .filter(({ visible }) => visible?.(actor) ?? true);
  const ownIn = (req: Request): OwnKeys => readOwnKeys(req.headers.cookie, http.secure(req));
  const byArea = <T extends Pick<Shortcut, 'area'>>(list: readonly T[]) =>
    AREAS.map((area) => ({ label: `web:keyboard.${area}`, shortcuts: list.filter((one) => one.area === area) })).filter(
      (area) => area.shortcuts.length > 0,
    );

  plugin.route(pages, { method: 'get', path: PAGE, can: 'public', summary: 'Lists the keyboard shortcuts.' })(
    ({ actor, req }) => {
      const locale = localeOf(req);
      const areas = byArea(withOwnKeys(offered(actor), ownIn(req)));
      const off = readPreferences(req.headers.cookie, http.secure(req)).keys === 'off';
      const head = { name: 'keyboard', title: phrase('web:keyboard'), noindex: true, current: PAGE };
      const listed = areas.map((area) => ({
        ...area,
        shortcuts: area.shortcuts.map((one) => ({ ...one, keys: one.keys.split(' ') })),
      }));
      const writing = isGuest(actor) ? [] : WRITING;
      return negotiated(view('@web/keyboard', head, { areas: listed, off, writing, settings: SETTINGS }), {
        success: true,
        title: locale.text('web:keyboard'),
        close: locale.text('web:keyboard.close'),
        change: { label: locale.text('web:keyboard.change'), href: SETTINGS },
        areas: areas.map(({ label, shortcuts: list }) => ({
          label: locale.text(label),
          shortcuts: list.map(({ visible: _visible, ...one }) => ({ ...one, label: locale.text(one.label) })),
        })),
      });
    },
  );

  const page = (actor: Viewer, chosen: OwnKeys, retry?: Retry): View => {
    const { wrong, ...errors } = formErrors(retry);
    const fields = offered(actor).map(({ id, keys, label, area }) => ({
      name: fieldOf(id),
      label,
      area,
      value: chosen[id] ?? keys,
      usual: keys,
      problem: wrong[fieldOf(id)],
    }));
    const labels = Object.fromEntries(
      fields.map(({ name, label }) => [name, retry && localeOf(retry.req).text(label)]),
    );
    const problems = errors.problems.map((problem) => ({ ...problem, label: labels[problem.field] }));
    const head = { name: 'settings', title: phrase('web:keyboard'), noindex: true, current: SETTINGS };
    const model = { ...errors, problems, areas: byArea(fields), member: !isGuest(actor), all: PAGE };
    return view('@web/keyboard-settings', head, model);
  };
  const typed = (body: Readonly<Record<string, unknown>>): OwnKeys => {
    const given = Object.entries((body['keys'] ?? {}) as Readonly<Record<string, unknown>>);
    return Object.fromEntries(given.map(([id, keys]) => [id, withSingleSpaces(String(keys))]));
  };
  const rerender = (retry: Retry): View => page(retry.actor, { ...ownIn(retry.req), ...typed(retry.body) }, retry);

  plugin.route(pages, {
    method: 'get',
    path: SETTINGS,
    can: 'public',
    summary: 'Shows the shortcuts of this device, to change them.',
  })(({ actor, req }) => page(actor, ownIn(req)));

  plugin.route(pages, {
    method: 'post',
    path: SETTINGS,
    can: 'public',
    summary: 'Saves the shortcuts of this device.',
    body: Keys,
    options: { rerender },
  })(({ actor, req, res, body }) => {
    const text: Locale['text'] = (key, values) => localeOf(req).text(key, values);
    const all = offered(actor);
    const chosen = body.reset ? {} : { ...ownIn(req), ...typed(body) };
    const problems = keyProblems(
      all.map((shortcut) => ({ ...shortcut, keys: chosen[shortcut.id] ?? shortcut.keys })),
      text,
    );
    if (problems.length > 0 && !body.reset) throw new InvalidInput(problems);
    writeOwnKeys(res, chosen, all, http.secure(req));
    return redirect(SETTINGS, { notice: text(body.reset ? 'web:keyboard.reset.done' : 'web:keyboard.saved') });
  });
}

/** The keys of writing fields, each with Ctrl, or Command on a Mac; `named` has a name of its own in each language. */
const WRITING: readonly { readonly named?: string; readonly key?: string; readonly label: string }[] = [
  { named: 'theme:key.enter', label: 'web:keyboard.send' },
  { key: 'B', label: 'theme:composer.bold' },
  { key: 'I', label: 'theme:composer.italic' },
  { key: 'K', label: 'theme:composer.link' },
  { named: 'theme:key.shift', key: '.', label: 'theme:composer.quote' },
  { key: ']', label: 'web:keyboard.indent' },
  { key: '[', label: 'web:keyboard.outdent' },
];

/** The shortcuts available on every page. The client script refers to the first three by id. */
const OWN: readonly Shortcut[] = [
  { id: 'web.keys', keys: '?', label: 'web:keyboard.keys', area: 'everywhere', href: PAGE },
  { id: 'web.next', keys: 'j', label: 'web:keyboard.next', area: 'lists' },
  { id: 'web.previous', keys: 'k', label: 'web:keyboard.previous', area: 'lists' },
  { id: 'web.home', keys: 'g h', label: 'web:keyboard.home', area: 'everywhere', href: '/' },
  {
    id: 'web.account',
    keys: 'g a',
    label: 'web:keyboard.account',
    area: 'everywhere',
    press: '.bar .account',
    visible: (viewer) => !isGuest(viewer),
  },
];
