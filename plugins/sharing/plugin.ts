import { definePlugin } from 'parley-forum';
import { isGuest } from 'parley-forum/plugins/access';
import { Discussions, headActions, postActions, postMenu } from 'parley-forum/plugins/discussions';
import { fill, shortcuts, slotFillings, Web } from 'parley-forum/plugins/web';

export default definePlugin({
  id: 'sharing',
  name: 'Sharing',
  version: '1.0.0',
  description: 'Shares the link of a discussion or a post.',
  needs: { discussions: Discussions, web: Web },
  setup({ web }, plugin) {
    plugin.extend(
      slotFillings,
      fill(
        headActions,
        (discussions, viewer) =>
          Promise.all(
            discussions.map(({ number, title }) =>
              web.fragment(viewer, '@sharing/discussion', { href: `/d/${number}`, title }),
            ),
          ),
        { shared: true },
      ),
    );
    plugin.extend(shortcuts, {
      id: 'sharing.share',
      keys: 's',
      label: 'sharing:keys.share',
      area: 'posts',
      press: 'x-share[data-title] a',
    });
    plugin.extend(shortcuts, {
      id: 'sharing.post',
      keys: 'l',
      label: 'sharing:keys.post',
      area: 'posts',
      press: '.post x-share a, .menu x-share a',
      inMenu: true,
    });
    // Guests have no menu.
    plugin.extend(
      slotFillings,
      fill(
        postActions,
        async (posts, viewer) =>
          isGuest(viewer)
            ? Promise.all(posts.map(({ number, url }) => web.fragment(viewer, '@sharing/post', { number, href: url })))
            : [],
        { shared: true },
      ),
    );
    plugin.extend(
      slotFillings,
      fill(postMenu, (posts, viewer) =>
        Promise.all(posts.map(({ url }) => web.fragment(viewer, '@sharing/menu-item', { href: url }))),
      ),
      -5,
    );
  },
});
