import { setTimeout as sleep } from 'node:timers/promises';
import { Cache, Clock, Data, definePlugin, Environment, Http, Type } from 'parley-forum';
import {
  discussionCacheTags,
  Discussions,
  postLooksChanged,
  postProjections,
  shownPosts,
} from 'parley-forum/plugins/discussions';
import { Access } from 'parley-forum/plugins/access';
import { Limits } from 'parley-forum/plugins/limits';
import { Live } from 'parley-forum/ports/live';
import { Thumbnails } from 'parley-forum/ports/pictures';
import { Protection } from 'parley-forum/plugins/protection';
import { withCards } from './cards.ts';
import { Downloader } from './fetching/downloader.ts';
import { Fetcher, type FetchJob } from './fetching/fetcher.ts';
import { isBelow } from './hosts.ts';
import { LinkUses } from './link-uses.ts';
import { servePictures } from './picture-surface.ts';
import { ALL_PREVIEWS, PreviewStore, type DuePreview } from './preview-store.ts';

/** Maximum number of pages for which jobs are added at a time; the rest stays due for the next run. */
const MAX_DUE = 500;
const PROCESS_REQUESTS = 4;
/** Milliseconds within which a freshly rendered page opens its live stream. */
const LISTENS_AFTER = 5_000;

export default definePlugin({
  id: 'link-previews',
  name: 'Link previews',
  version: '1.0.0',
  description: 'Shows links on a line of their own as cards with title, picture and site.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    environment: Environment,
    http: Http,
    access: Access,
    limits: Limits,
    protection: Protection,
    discussions: Discussions,
  },
  wants: { thumbnails: Thumbnails, live: Live },
  settings: Type.Object({
    'link-previews.enabled': Type.Boolean({
      default: true,
      title: 'Previews of links',
      description:
        'Links on a line of their own are shown as cards. This server fetches the linked page, so its host sees the request.',
    }),
    'link-previews.excluded_hosts': Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
      default: [],
      title: 'Hosts without previews',
      description: 'Pages on these hosts and their subdomains are neither fetched nor shown as cards.',
    }),
    'link-previews.days': Type.Integer({
      default: 30,
      minimum: 1,
      maximum: 3_650,
      title: 'Days to keep previews',
      description: 'Afterwards the page is fetched again; failed fetches are retried sooner.',
    }),
    'link-previews.most': Type.Integer({
      default: 10_000,
      minimum: 10,
      title: 'Maximum number of previews',
      description:
        'Beyond this number, the oldest links lose their previews. A picture takes about 10 kB in the database.',
    }),
    'link-previews.rate_limit': Type.Integer({
      default: 60,
      minimum: 1,
      title: 'Pages fetched per minute',
      description: 'For link previews, across all hosts; further ones are queued.',
      'x-group': 'limits',
    }),
  }),
  async setup(
    { data, cache, clock, environment, http, access, limits, protection, discussions, thumbnails, live },
    plugin,
  ) {
    const { settings, log } = plugin;
    const enabled = (): boolean => settings['link-previews.enabled'];
    const allowed = ({ hostname }: URL): boolean =>
      !settings['link-previews.excluded_hosts'].some((host) => isBelow(hostname, host));
    const store = new PreviewStore({ data, cache, clock, days: () => settings['link-previews.days'] });

    const guard = protection.urlGuard({
      allowedHosts: environment.previewHosts,
      allowedPorts: [80, 443],
      variables: { hosts: 'LINK_PREVIEWS_ALLOWED_HOSTS' },
      secure: false,
    });
    const userAgent = `Parley/${environment.version} (link previews; +${environment.baseUrl})`;
    const downloader = new Downloader({ guard, userAgent, allowed });
    const rate = (): number => settings['link-previews.rate_limit'];
    const changed = async (id: string): Promise<void> => {
      const posts = live ? await discussions.posts(await store.postsWith(id), access.unrestricted) : [];
      const notify = (): void =>
        posts.forEach(({ discussion_id, number }) => live?.send(postLooksChanged, { discussion_id, number }));
      notify();
      // A page rendered just before, such as the author's own, starts listening a moment later.
      void sleep(LISTENS_AFTER, undefined, { signal: plugin.signal, ref: false }).then(notify, () => undefined);
    };
    const fetcher = new Fetcher({ store, limits, downloader, thumbnails, log, enabled, rate, changed });
    const job = plugin.job<FetchJob>('fetch', {
      schema: Type.Object({ id: Type.String(), host: Type.String() }),
      key: ({ host }) => host,
      perKey: 1,
      limit: PROCESS_REQUESTS,
      external: true,
      run: (payload, delivery) => fetcher.run(payload, delivery),
    });
    // One job per preview, no matter how often it is requested.
    const fetch = async ({ id, url }: DuePreview): Promise<void> =>
      void (await job.add({ id, host: new URL(url).host }, { id }));

    const uses = new LinkUses({ data, clock, fetch });
    plugin.extend(postProjections, uses);
    await plugin.backfill(discussions.postBackfill(uses));
    plugin.job('renew', {
      schema: Type.Object({}),
      cron: '*/10 * * * *',
      run: async () => {
        await store.removeUnused(plugin.signal);
        await store.removeOldest(settings['link-previews.most'], plugin.signal);
        if (!enabled()) return;
        await data.transaction(async () => {
          for (const preview of await store.allDue(MAX_DUE)) await fetch(preview);
        });
      },
    });

    plugin.on(shownPosts, (posts) => (enabled() ? withCards(posts, { cache, store, allowed }) : posts));
    plugin.onSettings(async (keys) => {
      if (keys.includes('link-previews.enabled') || keys.includes('link-previews.excluded_hosts'))
        await cache.purge(ALL_PREVIEWS, discussionCacheTags.all);
    });
    servePictures(plugin, { http, protection, store });
  },
});
