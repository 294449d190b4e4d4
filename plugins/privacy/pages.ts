import type { Cache, PluginHandle } from 'parley-forum';
import { accountsTag, accountTag, type Accounts } from 'parley-forum/plugins/accounts';
import { presenceTag } from 'parley-forum/ports/page-visibility';
import { navigation, negotiated, pages, phrase, redirect, type Retry, type View } from 'parley-forum/plugins/web';
import type { VisibilityChoiceStore } from './visibility-choices.ts';
import type { AccountDeletions } from './deletions.ts';
import { ChoiceForm, DeletionForm, checkName, deletePage, overview, PRIVACY } from './forms.ts';
import type { PrivacySettings } from './settings.ts';

export interface PagesDeps {
  readonly cache: Cache;
  readonly accounts: Accounts;
  readonly choices: VisibilityChoiceStore;
  readonly deletions: AccountDeletions;
}
const DELETE = `${PRIVACY}/delete`;

/** The page for a viewer. Guests get here if their session ended while they filled in the form. */
export const pageOf =
  (choices: VisibilityChoiceStore) =>
  async (id: string | undefined, retry?: Retry): Promise<View> =>
    overview(id === undefined ? { presence: false, lastSeen: false } : await choices.of(id), retry);

/** The pages where members choose what others see of them, and delete their account. */
export function addPages(
  plugin: PluginHandle<PrivacySettings>,
  { cache, accounts, choices, deletions }: PagesDeps,
): void {
  const page = pageOf(choices);
  const days = (): number => plugin.settings['privacy.grace_days'];
  plugin.extend(navigation, { area: 'settings', label: 'privacy:title', href: PRIVACY });

  plugin.route(pages, { method: 'get', path: PRIVACY, can: 'member' })(async ({ actor }) => {
    const { presence, lastSeen } = await choices.of(actor.id);
    return negotiated(await page(actor.id), { success: true, hide_presence: presence, hide_last_seen: lastSeen });
  });

  plugin.route(pages, {
    method: 'post',
    path: PRIVACY,
    can: 'member',
    body: ChoiceForm,
    options: { rerender: (retry: Retry) => page(retry.actor.id, retry) },
  })(async ({ actor, body }) => {
    const id = actor.id;
    await choices.save(id, { presence: body.hide_presence, lastSeen: body.hide_last_seen });
    await cache.purge(accountTag(id), accountsTag, presenceTag);
    return negotiated(redirect(PRIVACY, { notice: phrase('privacy:saved') }), { success: true });
  });

  const confirmed = { confirm: true };
  plugin.route(pages, { method: 'get', path: DELETE, can: 'member', options: confirmed })(() => deletePage(days()));

  plugin.route(pages, {
    method: 'post',
    path: DELETE,
    can: 'member',
    body: DeletionForm,
    options: { ...confirmed, rerender: (retry: Retry) => deletePage(days(), retry) },
  })(async ({ actor, body }) => {
    const id = actor.id;
    checkName(body.username, (await accounts.find(id))?.username);
    const due = await deletions.request(id, { mode: body.mode, days: days(), by: id });
    const date = due.toISOString().slice(0, 10);
    const notice = phrase(days() === 0 ? 'privacy:delete.begun' : 'privacy:delete.planned', { date });
    return negotiated(redirect('/', { notice }), { success: true, due_at: due.toISOString() });
  });
}
