import { Type, type PluginHandle, type Settings } from 'parley-forum';
import type { Member } from 'parley-forum/plugins/access';
import { api, limitOf, listOf, pageFields, Paging, Time } from 'parley-forum/plugins/api';
import { DraftFields, DraftRecord } from 'parley-forum/plugins/drafts';
import type { DraftService } from './draft-service.ts';

export interface RouteDeps {
  readonly plugin: PluginHandle;
  readonly settings: Settings;
  readonly drafts: DraftService;
}
const KeyParams = Type.Object({ key: Type.String({ maxLength: 100 }) });
/** Maximum bytes of the drafts in one response: the next page has the rest. */
const MAX_PAGE_BYTES = 512 * 1024;
const BUCKET = { name: 'drafts', window: 600, limit: 'drafts.rate_limit' };

const dateOf = (time: string | null | undefined): Date | null | undefined =>
  time ? new Date(time) : (time as null | undefined);

interface Named {
  readonly actor: Member;
  readonly params: { readonly key: string };
}

/** /api/drafts and below: always the caller's own drafts. */
export function draftRoutes({ plugin, settings, drafts }: RouteDeps): void {
  const write = { can: 'member', options: { bucket: BUCKET }, params: KeyParams } as const;
  const load = ({ actor, params }: Named) => drafts.find(params.key, actor);

  plugin.route(api, {
    method: 'get',
    path: '/drafts',
    can: 'member',
    summary: 'Drafts of the caller, newest first',
    query: Type.Object(Paging),
    result: listOf('drafts', DraftRecord),
  })(async ({ actor, query: { limit, offset, cursor } }) => {
    const page = await drafts.list(actor, {
      limit: limitOf(settings, limit),
      offset,
      cursor,
      bytes: MAX_PAGE_BYTES,
    });
    const shown = await drafts.shown(page.items, actor);
    return { drafts: shown.map(({ record }) => record), ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'get',
    path: '/drafts/:key',
    can: 'member',
    summary: 'One draft of the caller',
    params: KeyParams,
    result: Type.Object({ draft: DraftRecord }),
    load,
  })(async ({ actor, target }) => {
    const [shown] = await drafts.shown([target], actor);
    return { draft: shown!.record };
  });

  plugin.route(api, {
    ...write,
    method: 'put',
    path: '/drafts/:key',
    options: { bucket: BUCKET, longText: true },
    summary: 'Save the values of a form, replacing its previous draft',
    body: Type.Object({
      fields: DraftFields,
      replaces: Type.Optional(
        Type.Union([Time, Type.Null()], {
          description:
            '`updated_at` of the draft being replaced, null if there is none; 409 `draft_changed` if it differs',
        }),
      ),
    }),
    result: Type.Object({ key: Type.String(), updated_at: Time }),
    load: ({ actor, params }: Named) => drafts.formOf(params.key, actor),
  })(async ({ actor, params, body: { fields, replaces } }) => {
    const draft = await drafts.put(actor, params.key, fields, dateOf(replaces));
    return { key: draft.key, updated_at: draft.updatedAt.toISOString() };
  });

  plugin.route(api, {
    ...write,
    method: 'delete',
    path: '/drafts/:key',
    summary: 'Discard a draft; harmless if there is none',
    result: Type.Object({}),
    // An existing draft can be discarded even if its form is no longer visible.
    load: async (named: Named) => (await load(named)) ?? drafts.formOf(named.params.key, named.actor),
  })(async ({ actor, params }) => {
    await drafts.remove([params.key], actor);
    return {};
  });
}
