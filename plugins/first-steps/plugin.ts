import { Cache, Clock, Data, definePlugin, Type } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import { Accounts, accountTag } from 'parley-forum/plugins/accounts';
import { Discussions, homeBanner } from 'parley-forum/plugins/discussions';
import { fill, negotiated, pages, redirect, renderedTag, slotFillings, Web } from 'parley-forum/plugins/web';
import { firstSteps } from 'parley-forum/ports/suggestions';
import { personalData } from 'parley-forum/ports/personal-data';
import { HiddenSteps } from './hidden-steps.ts';
import { firstStepsPersonalData } from './personal-data.ts';

const DAY = 86_400_000;

export default definePlugin({
  id: 'first-steps',
  name: 'First steps',
  version: '1.0.0',
  description: 'Suggests first steps to new members.',
  needs: { data: Data, cache: Cache, clock: Clock, accounts: Accounts, discussions: Discussions, web: Web },
  extensionPoints: [firstSteps],
  settings: Type.Object({
    'first-steps.days': Type.Integer({
      default: 14,
      minimum: 0,
      maximum: 365,
      title: 'Days to show first steps',
      description: 'On the home page of new members, until they complete or dismiss them. 0: never.',
    }),
  }),
  setup({ data, cache, clock, accounts, web }, plugin) {
    const hidden = new HiddenSteps(data);
    plugin.extend(personalData, firstStepsPersonalData(hidden));

    const isNew = async ({ id }: Viewer): Promise<boolean> => {
      const account = id === undefined ? undefined : await accounts.find(id);
      return (
        account !== undefined && clock.now() - account.joinedAt.getTime() < plugin.settings['first-steps.days'] * DAY
      );
    };
    const panel = fill(homeBanner, async (places, viewer) => {
      if (isGuest(viewer) || !(await isNew(viewer)) || (await hidden.has(viewer.id))) return [];
      const steps = await Promise.all(
        plugin
          .extensions(firstSteps)
          .map(async ({ value: { label, href, done } }) => ({ label, href, done: await done(viewer) })),
      );
      if (steps.every(({ done }) => done)) return [];
      const shown = await web.fragment(viewer, '@first-steps/panel', { steps });
      return places.map(() => shown);
    });
    plugin.extend(slotFillings, panel);
    plugin.onSettings(() => cache.purge(renderedTag));

    plugin.route(pages, {
      method: 'post',
      path: '/first-steps/hide',
      can: 'member',
      summary: 'Hides the first steps, on every device.',
    })(async ({ actor }) => {
      await hidden.add(actor.id, new Date(clock.now()));
      await cache.purge(accountTag(actor.id));
      return negotiated(redirect('/'), { success: true });
    });
  },
});
