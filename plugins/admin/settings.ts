import {
  InvalidInput,
  notFound,
  Type,
  type Data,
  type Environment,
  type Plugins,
  type SettingInfo,
  type Settings,
} from 'parley-forum';
import { configure, adminSections, settingsChanged, settingsSaving } from 'parley-forum/plugins/admin';
import {
  negotiated,
  openedForm,
  openedIn,
  pages,
  phrase,
  redirect,
  type Retry,
  type View,
  type Web,
} from 'parley-forum/plugins/web';
import { by, type PanelDeps } from './shared.ts';
import { fromForm, groupOf, isSecret, isShown } from './setting-values.ts';
import type { Actor, SecurityWarnings } from './security-warnings.ts';

interface Field {
  readonly name: string;
  readonly label: string;
  readonly help?: string;
  readonly danger?: boolean;
}
/** The part of a form's model that this page adds to. */
interface Form {
  readonly groups: readonly {
    readonly title: string | undefined;
    readonly fields: readonly Field[];
  }[];
}

/** The key of a field's setting: fields for lists of choices have `[]` appended to their names. */
const keyOf = ({ name }: Field): string => name.replace('[]', '');

/** Returns a function that tells whether each word of the query occurs in the given texts, ignoring case. */
const matcherOf = (q: string): ((...texts: readonly string[]) => boolean) => {
  const words = q.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  return (...texts) => {
    const text = texts.join('\n').toLocaleLowerCase();
    return words.every((word) => text.includes(word));
  };
};

/** `bulk-mail` → "Bulk mail". */
const titleOf = (group: string): string => group.charAt(0).toUpperCase() + group.slice(1).replaceAll('-', ' ');
const plain = (setting: SettingInfo): object => ({
  key: setting.key,
  plugin: setting.plugin,
  group: groupOf(setting),
  stored: setting.stored,
  secret: isSecret(setting),
  ...(!isSecret(setting) && { value: setting.value, default: setting.default }),
});

/** A stored value may still equal the default: the installer stores some that do. */
const differs = (setting: SettingInfo): boolean =>
  setting.stored && (isSecret(setting) || JSON.stringify(setting.value) !== JSON.stringify(setting.default));

/** The URL with its password masked. */
function withoutPassword(address: string): string {
  const url = new URL(address);
  return url.password === '' ? address : address.replace(/^([^:]+:\/\/[^:@/]*):.*@/, '$1:…@');
}

/**
 * Values that only the environment can set: where secrets are sent, which hosts this server calls and which proxies it
 * trusts.
 */
const fixedIn = ({
  smtpUrl,
  mailFrom,
  trustedProxies,
  allowedHosts,
  allowedPorts,
  previewHosts,
  identityProviderHosts,
  pushHosts,
}: Environment): readonly { readonly variable: string; readonly value: string }[] => [
  { variable: 'SMTP_URL', value: smtpUrl === undefined ? '' : withoutPassword(smtpUrl) },
  { variable: 'MAIL_FROM', value: mailFrom ?? '' },
  { variable: 'TRUSTED_PROXIES', value: trustedProxies.join(', ') },
  { variable: 'WEBHOOKS_ALLOWED_HOSTS', value: allowedHosts.join(', ') },
  { variable: 'WEBHOOKS_ALLOWED_PORTS', value: allowedPorts.join(', ') },
  { variable: 'LINK_PREVIEWS_ALLOWED_HOSTS', value: previewHosts.join(', ') },
  { variable: 'SSO_ALLOWED_HOSTS', value: identityProviderHosts.join(', ') },
  { variable: 'PUSH_ALLOWED_HOSTS', value: pushHosts.join(', ') },
];

interface SettingsDeps {
  readonly data: Data;
  readonly settings: Settings;
  readonly plugins: Plugins;
  readonly web: Web;
  readonly environment: Environment;
  readonly warnings: SecurityWarnings;
}

/** `/admin/settings` and its groups: forms generated from the settings' schemas. */
export function addSettings(
  { plugin, panel }: PanelDeps,
  { data, settings, plugins, web, environment, warnings }: SettingsDeps,
): void {
  plugin.extend(adminSections, { group: 'system' as const, label: 'admin:settings', href: '/admin/settings' }, -100);
  const can = configure;
  const shown = (): readonly SettingInfo[] => settings.list().filter(isShown);
  const pathOf = (group: string): string => `/admin/settings/${encodeURIComponent(group)}`;
  /** The plugin's name if the group is named after a plugin. */
  const nameOf = (id: string): string => plugins.list().find((one) => one.id === id)?.name ?? titleOf(id);

  /** Problems of values already in use. */
  const standing = (own: readonly SettingInfo[]): Retry['problems'] => {
    const message = web.themeProblem ?? web.themeWarning;
    const field = own.find(({ key }) => key === 'site.theme')?.key;
    return message === undefined || field === undefined ? [] : [{ field, message }];
  };

  /** Choices that are known only at run time, not by the schema. */
  const choices = (key: string): object => (key === 'site.theme' ? { enum: web.themes } : {});

  const schemaOf = (own: readonly SettingInfo[]): object =>
    Type.Object(
      Object.fromEntries(
        own.map(({ key, plugin: owner, schema: given }) => [
          key,
          { ...given, ...choices(key), 'x-group': nameOf(owner), 'x-plugin': owner },
        ]),
      ),
    );

  const groupView = (group: string, typed?: Pick<Retry, 'body' | 'problems' | 'message'>): View => {
    const own = shown().filter((setting) => groupOf(setting) === group);
    // Secrets are never shown, only whether one is stored.
    const values = Object.fromEntries(
      own.map((setting) => [setting.key, isSecret(setting) ? (setting.stored ? 'set' : '') : setting.value]),
    );
    const form = web.form(schemaOf(own), { ...values, ...typed?.body }, typed?.problems ?? standing(own)) as Form;
    const changed = new Set(own.filter(differs).map(({ key }) => key));
    const open = own.filter((setting) => !isSecret(setting)).map(({ key, value }) => [key, value]);
    const opened = typed?.body['_opened'] ?? openedForm(Object.fromEntries(open));
    const groups = form.groups.map(({ title, fields }) => ({
      title: form.groups.length > 1 ? title : undefined,
      fields: fields.map((field) => ({
        field,
        danger: field.danger,
        changed: changed.has(keyOf(field)),
        key: keyOf(field),
      })),
    }));
    return panel.view(
      '@admin/settings-group',
      { title: web.declared(nameOf(group)), current: '/admin/settings' },
      { group, opened, form: { ...form, groups }, message: typed?.message },
    );
  };

  const groupsView = () =>
    [...Map.groupBy(shown(), groupOf)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([group, own]) => ({
        title: web.declared(nameOf(group)),
        href: pathOf(group),
        changed: own.filter(differs).length,
        names: own
          .map(({ schema, key, plugin: owner }) => web.declared((schema as { title?: string }).title ?? key, owner))
          .join(', '),
      }));

  /** Settings whose key, label, help or group contains the words, in the order of their groups. */
  const found = (matches: ReturnType<typeof matcherOf>) =>
    [...Map.groupBy(shown(), groupOf)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([group, own]) => {
        const title = web.declared(nameOf(group));
        const { groups } = web.form(schemaOf(own), {}) as Form;
        const fields = groups.flatMap((part) => part.fields);
        return fields
          .filter((field) => matches(keyOf(field), field.label, field.help ?? '', title))
          .map((field) => ({
            key: keyOf(field),
            label: field.label,
            help: field.help,
            group: title,
            href: pathOf(group),
            field: `${pathOf(group)}#f-${encodeURIComponent(keyOf(field))}`,
          }));
      });

  plugin.route(pages, {
    method: 'get',
    path: '/admin/settings',
    can,
    query: Type.Object({
      q: Type.Optional(Type.String({ maxLength: 100, description: 'Search text for names, labels and descriptions' })),
    }),
  })(({ query: { q = '' } }) => {
    const text = q.trim();
    const matches = matcherOf(text);
    const fixed = fixedIn(environment).filter(({ variable }) => matches(variable));
    const results = text === '' ? undefined : found(matches);
    const keys = results && new Set(results.map(({ key }) => key));
    const sections = panel.sections.filter(({ label }) => matches(web.say(phrase(label))));
    const model = results ? { text, sections, results, fixed } : { groups: groupsView(), fixed };
    return negotiated(panel.view('@admin/settings', { title: phrase('admin:settings') }, model), {
      success: true,
      settings: shown()
        .filter(({ key }) => keys?.has(key) ?? true)
        .map(plain),
      environment: fixed,
    });
  });

  plugin.route(pages, {
    method: 'get',
    path: '/admin/settings/:group',
    can,
    params: Type.Object({ group: Type.String({ maxLength: 64 }) }),
    load: ({ params }) => (shown().some((setting) => groupOf(setting) === params.group) ? params.group : undefined),
  })(({ target }) =>
    negotiated(groupView(target), {
      success: true,
      settings: shown()
        .filter((setting) => groupOf(setting) === target)
        .map(plain),
    }),
  );

  /** Warns the administrators of changed settings that protect accounts. */
  const warn = async (keys: readonly string[], actorOf: Actor): Promise<void> => {
    const grave = shown()
      .filter(({ key, schema }) => keys.includes(key) && 'x-danger' in schema)
      .map(({ key }) => key);
    if (grave.length > 0) await warnings.send('settings', () => ({ settings: grave.join(', ') }), actorOf);
  };
  const groupIn = (body: Readonly<Record<string, unknown>>): string => String(body['_group'] ?? '');
  const rerender = (retry: Retry): View => groupView(groupIn(retry.body), retry);

  plugin.route(pages, {
    method: 'post',
    path: '/admin/settings/save',
    can,
    summary: 'Save settings',
    options: { longText: true, rerender },
    body: Type.Record(Type.String(), Type.Unknown()),
  })(async ({ req, actor, body }) => {
    const sent = Object.fromEntries(Object.entries(body).filter(([key]) => !key.startsWith('_')));
    const unknown = Object.keys(sent).filter((key) => !shown().some((setting) => setting.key === key));
    if (unknown.length > 0)
      throw new InvalidInput(unknown.map((field) => ({ field, message: 'is not a setting of any installed plugin' })));
    const changes = req.is('json') ? sent : fromForm(sent, shown(), openedIn(body));
    const keys = Object.keys(changes);
    const problems = await plugin.filter(settingsSaving, [], { actor: actor.id, changes });
    if (problems.length > 0) throw new InvalidInput(problems);
    await data.transaction(async () => {
      await warn(keys, warnings.actorOf(actor, req));
      await settings.set(changes);
      if (keys.length > 0) await plugin.emit(settingsChanged, { actor: actor.id, keys, reset: false });
    });
    if (keys.length > 0) plugin.log.info({ ...by(actor), settings: keys }, 'settings were changed');
    const saved = shown()
      .filter(({ key }) => key in changes)
      .map(plain);
    const group = groupIn(body);
    const to = group === '' ? '/admin/settings' : pathOf(group);
    const back =
      saved.length > 0
        ? redirect(to, { notice: phrase('admin:settings.saved') })
        : redirect(to, { notice: phrase('admin:settings.unchanged'), noticeKind: 'info' });
    return negotiated(back, { success: true, settings: saved });
  });

  plugin.route(pages, {
    method: 'post',
    path: '/admin/settings/reset',
    can,
    summary: 'admin:does.reset',
    body: Type.Object({ key: Type.String() }),
  })(async ({ actor, req, body }) => {
    const setting = shown().find(({ key }) => key === body.key);
    if (!setting) throw notFound('There is no such setting');
    await data.transaction(async () => {
      await warn([setting.key], warnings.actorOf(actor, req));
      await settings.reset([setting.key]);
      await plugin.emit(settingsChanged, { actor: actor.id, keys: [setting.key], reset: true });
    });
    plugin.log.info({ ...by(actor), settings: [setting.key] }, 'settings were reset');
    return negotiated(redirect(pathOf(groupOf(setting)), { notice: phrase('admin:settings.reset-done') }), {
      success: true,
    });
  });
}
