import { definePlugin, Environment, Type } from '#core';
import { api } from '#plugins/api';
import { Markdown, markdownHtml } from '#plugins/markdown';
import { foreignSources, Protection } from '#plugins/protection';
import { Renderer } from './service.ts';

export default definePlugin({
  id: 'markdown',
  name: 'Markdown',
  version: '1.0.0',
  description: 'Turns what members write into safe HTML.',
  needs: { environment: Environment },
  wants: { protection: Protection },
  provides: { markdown: Markdown },
  hooks: [markdownHtml],
  settings: Type.Object({
    'markdown.image_hosts': Type.Array(Type.String({ maxLength: 255 }), {
      default: [], title: 'Hosts of pictures',
      description: 'Pictures of these hosts are shown in texts; those of others become links. For texts written from now on.',
    }),
    'markdown.rate_limit': Type.Integer({ default: 60, minimum: 1, title: 'Previews a minute', description: 'Per member, or per address for guests.' }),
  }),

  setup({ environment, protection }, plugin) {
    const create = (): Renderer =>
      new Renderer({ origin: new URL(environment.baseUrl).origin, imageHosts: plugin.settings['markdown.image_hosts'] }, (html, source) =>
        plugin.filter(markdownHtml, html, { source }));
    let renderer = create();
    plugin.extend(foreignSources, { directive: 'img-src', hosts: () => plugin.settings['markdown.image_hosts'].map((host) => `https://${host}`) });
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
    };

    plugin.route(api, {
      method: 'post',
      path: '/markdown/parse',
      summary: 'Renders Markdown as it would be shown in a post; at most 64 KiB.',
      body: Type.Object({ content: Type.String() }),
      result: Type.Object({ html: Type.String() }),
      can: 'public',
      options: { csrf: false, bucket: { name: 'markdown', window: 60, limit: 'markdown.rate_limit' } },
    })(async ({ body }) => ({ html: await markdown.render(body.content) }));

    return { markdown };
  },
});
