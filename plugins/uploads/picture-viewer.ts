import type { PluginHandle } from 'parley-forum';
import { postBefore } from 'parley-forum/plugins/discussions';
import { fill, slotFillings, type Web } from 'parley-forum/plugins/web';

/** Above each post with pictures, what shows them large; without script their links open the files. */
export function pictureViewer(plugin: PluginHandle, web: Web): void {
  plugin.extend(
    slotFillings,
    fill(
      postBefore,
      async (posts, viewer) => {
        const some = posts.map(({ html }) => String(html).includes('class="picture"'));
        const shown = some.includes(true) ? await web.fragment(viewer, '@uploads/viewer', {}) : undefined;
        return some.map((has) => (has ? shown : undefined));
      },
      { shared: true },
    ),
  );
}
