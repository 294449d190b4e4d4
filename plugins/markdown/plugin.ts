import { definePlugin, Environment, Http, Type } from 'parley-forum';
import { isGuest } from 'parley-forum/plugins/access';
import { api } from 'parley-forum/plugins/api';
import { Limits } from 'parley-forum/plugins/limits';
import { Markdown, markdownHtml } from 'parley-forum/plugins/markdown';
import { foreignSources, Protection } from 'parley-forum/plugins/protection';
import { permittedImages } from './permitted-images.ts';
import { GuestPreviews } from './previews.ts';
import { Renderer } from './renderer.ts';

export default definePlugin({
  id: 'markdown',
  name: 'Markdown',
  version: '1.0.0',
  description: 'Renders Markdown as safe HTML.',
  needs: { environment: Environment, http: Http, limits: Limits },
  wants: { protection: Protection },
  provides: { markdown: Markdown },
  hooks: [markdownHtml],
  settings: Type.Object({
    'markdown.image_hosts': Type.Array(Type.String({ maxLength: 255 }), {
      default: ['*'],
      title: 'Hosts of pictures',
      description:
        'Pictures from these hosts are shown in posts, others become links; * allows all. The host of a picture can see who views it. Applies to new posts.',
    }),
    'markdown.rate_limit': Type.Integer({
      default: 60,
      minimum: 1,
      title: 'Previews per minute',
      description: 'Per member, or per address for guests.',
    }),
  }),

  setup({ environment, http, limits, protection }, plugin) {
    const { origin } = new URL(environment.baseUrl);
    const create = (): Renderer =>
      new Renderer({ origin, imageHosts: plugin.settings['markdown.image_hosts'] }, (html, source) =>
        plugin.filter(markdownHtml, html, { source }),
      );
    let renderer = create();
    plugin.extend(foreignSources, {
      directive: 'img-src',
      hosts: () => plugin.settings['markdown.image_hosts'].map((host) => (host === '*' ? 'https:' : `https://${host}`)),
    });
    protection?.refresh();
    plugin.defer(() => renderer.close());
    plugin.onSettings(async (keys) => {
      if (!keys.includes('markdown.image_hosts')) return;
      const old = renderer;
      renderer = create();
      protection?.refresh();
      await old.close();
    });
    const markdown: Markdown = {
      render: (source) => renderer.render(source),
      excerpt: (source, length) => renderer.excerpt(source, length),
      permitted: { rule: `1 ${origin}`, images: (html) => permittedImages(html, origin) },
    };
    const guests = new GuestPreviews();

    plugin.route(api, {
      method: 'post',
      path: '/markdown/parse',
      summary: 'Renders Markdown as in a post; at most 64 KiB, for guests 8 KiB and one at a time per IP address.',
      body: Type.Object({ content: Type.String() }),
      result: Type.Object({ html: Type.String() }),
      can: 'public',
      options: { csrf: false, longText: true, bucket: { name: 'markdown', window: 60, limit: 'markdown.rate_limit' } },
    })(async ({ req, actor, body: { content } }) => {
      if (!isGuest(actor)) return { html: await renderer.render(content, 'preview') };
      return {
        html: await guests.run(limits.ipKey(http.ip(req)), () => renderer.render(content, 'guest')),
      };
    });

    return { markdown };
  },
});
