import type { PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { postBefore } from 'parley-forum/plugins/discussions';
import { fill, slotFillings, textBefore, type SafeHtml, type Web } from 'parley-forum/plugins/web';

/** Adds the viewer for enlarged pictures to each text with pictures. Without scripts their links open the files. */
export function pictureViewer(plugin: PluginHandle, web: Web): void {
  const viewers = async (
    texts: readonly { readonly html?: unknown }[],
    viewer: Viewer,
  ): Promise<readonly (SafeHtml | undefined)[]> => {
    const some = texts.map(({ html }) => String(html).includes('class="picture"'));
    const shown = some.includes(true) ? await web.fragment(viewer, '@uploads/viewer', {}) : undefined;
    return some.map((has) => (has ? shown : undefined));
  };
  plugin.extend(slotFillings, fill(postBefore, viewers, { shared: true }));
  plugin.extend(slotFillings, fill(textBefore, viewers));
}
