import { openModeration } from 'parley-forum/plugins/moderation';
import { navigation, pages, phrase, shortcuts, view } from 'parley-forum/plugins/web';
import { moderationQueues } from 'parley-forum/ports/moderation';
import { HOME, entryModel, LOG, memberPath, type PagesDeps } from './shared.ts';

/** The maximum number of members, log entries and waiting items of a queue shown. */
const MAX_SHOWN = 10;
/** Milliseconds a queue may take to load. */
const QUEUE_BUDGET = 2_000;

/** /mod: what is waiting, recent actions, and who is suspended. */
export function homePages({ plugin, access, accounts, log }: PagesDeps): void {
  plugin.extend(
    navigation,
    {
      area: 'moderation',
      label: 'moderation:title',
      href: HOME,
      icon: 'shield',
      visible: (viewer) => access.allows(viewer, openModeration),
    },
    -10,
  );

  // The queues of all plugins mark the elements that these keys press or focus.
  for (const [does, keys] of [
    ['accept', 'a'],
    ['decline', 'd'],
    ['claim', 'p'],
    ['judge', 'b'],
    ['note', 'n'],
  ] as const)
    plugin.extend(shortcuts, {
      id: `moderation.${does}`,
      keys,
      label: `moderation:keys.${does}`,
      area: 'queues',
      press: `[data-queue="${does}"]`,
      visible: (viewer) => access.allows(viewer, openModeration),
    });

  plugin.route(pages, { method: 'get', path: HOME, can: openModeration })(async ({ actor }) => {
    const suspensions = access.suspensions();
    const queues = plugin.extensions(moderationQueues).filter(({ value }) => access.allows(actor, value.can));
    const suspensionsShown = suspensions.slice(0, MAX_SHOWN);
    const [recent, people, waiting] = await Promise.all([
      log.list({ limit: MAX_SHOWN }, actor),
      accounts.authors(suspensionsShown.map(({ userId }) => userId)),
      Promise.all(
        queues.map(({ plugin: owner, value: queue }) =>
          plugin.attempt(owner, `queue ${queue.href}`, () => queue.waiting(actor, MAX_SHOWN), QUEUE_BUDGET),
        ),
      ),
    ]);
    const model = {
      entries: recent.items.map(entryModel),
      log: LOG,
      total: suspensions.length,
      suspended: suspensionsShown.flatMap(({ userId, until, reason }) => {
        const member = people.get(userId);
        return member ? [{ ...member, until, reason, href: memberPath(member.username) }] : [];
      }),
      // Empty queues are only among the tabs.
      queues: queues.flatMap(({ value: { href, heading } }, at) =>
        waiting[at] && waiting[at].count > 0 ? [{ href, heading, ...waiting[at] }] : [],
      ),
      quiet: waiting.every((answer) => answer?.count === 0),
    };
    return view(
      '@moderation/home',
      { name: 'moderation', title: phrase('moderation:title'), noindex: true, current: HOME },
      model,
    );
  });
}
