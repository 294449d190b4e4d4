import { definePlugin, Type } from 'parley-forum';
import { api } from 'parley-forum/plugins/api';
import { composerCompletion, composerTools, fill, html, slotFillings, Web } from 'parley-forum/plugins/web';

/** The groups of `public/emoji.json`, in its order, each with the emoji that represents it. */
const GROUPS: Readonly<Record<string, string>> = {
  'smileys-emotion': '😀',
  'people-body': '👋',
  'animals-nature': '🐻',
  'food-drink': '🍎',
  'travel-places': '🚗',
  activities: '⚽',
  objects: '💡',
  symbols: '💬',
  flags: '🏁',
};
const TONES = ['✋', '✋🏻', '✋🏼', '✋🏽', '✋🏾', '✋🏿'];

export default definePlugin({
  id: 'emoji',
  name: 'Emoji',
  version: '1.1.0',
  description: 'Emoji in posts, by name or from a picker.',
  needs: { web: Web },
  setup({ web }, plugin) {
    const names = html`<x-complete-emoji data-trigger=":"></x-complete-emoji>`;
    plugin.extend(
      slotFillings,
      fill(composerCompletion, (places) => places.map(() => names), { shared: true }),
    );
    const button = fill(
      composerTools,
      async (places, viewer) => {
        const tool = await web.fragment(viewer, '@emoji/button', {});
        return places.map(() => tool);
      },
      { shared: true },
    );
    plugin.extend(slotFillings, button);

    const model = {
      groups: Object.entries(GROUPS).map(([id, sign]) => ({ id, sign, label: `emoji:group.${id}` })),
      tones: TONES.map((sign, tone) => ({ tone, sign, label: `emoji:tone.${tone}` })),
    };
    plugin.route(api, {
      method: 'get',
      path: '/emoji/picker',
      can: 'public',
      summary: 'HTML of the emoji picker, without the emoji, which a script adds',
      result: Type.Object({ html: Type.String() }),
    })(async ({ actor }) => ({ html: String(await web.fragment(actor, '@emoji/picker', model)) }));
  },
});
