import {
  defineAction, defineCommand, defineExtensionPoint, defineFilter, definePermission, definePlugin, defineQuery, defineSurface, defineToken, Type,
  type PluginHandle, type Static,
} from 'parley-forum';
import type * as contract from 'parley-forum/plugins/discussions';
import { fill, html, slotFillings } from 'parley-forum/plugins/web';

/**
 * What must not compile. `npm run check` compiles this file and nothing runs it: an expectation of an error that does
 * not come is itself an error.
 */
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(): T => true as T;

interface Counter {
  next(): number;
}
const Counter = defineToken<Counter>('Counter');
const Names = defineToken<readonly string[]>('Names');
const added = defineAction<{ readonly item: { readonly title: string } }>('item.added');
const shown = defineFilter<{ readonly title: string }, { readonly loud: boolean }>('item.shown');
const slug = defineQuery<{ readonly title: string }, string>('item.slug');
const badges = defineExtensionPoint<{ readonly label: string }>('item.badges', 'What a test adds.');
const write = definePermission('item.write', { label: 'write items', default: 'everyone' });
const close = definePermission('item.close', { label: 'close items', default: 'moderator' });
const doors = defineSurface<{ readonly actor: { readonly id: string } | { readonly id: undefined } }>('doors', { prefix: '/doors' });
const surface = defineSurface<{ readonly actor: { readonly name: string } }, object, { readonly quiet?: boolean }>('items', { prefix: '/items', options: { quiet: 'Says nothing.' } });
const settings = Type.Object({ 'item.limit': Type.Integer({ default: 3 }), 'item.style': Type.Union([Type.Literal('plain'), Type.Literal('bold')], { default: 'plain' }) });

holds<Equal<Static<typeof settings>, { 'item.limit': number; 'item.style': 'plain' | 'bold' }>>();

definePlugin({
  id: 'services', needs: { counter: Counter }, wants: { names: Names },
  setup({ counter, names }) {
    holds<Equal<typeof counter, Counter>>();
    holds<Equal<typeof names, readonly string[] | undefined>>();
    // @ts-expect-error a wanted service may be absent
    names.length.toFixed();
    // @ts-expect-error a service has the type its token says
    counter.previous();
  },
});

// @ts-expect-error a service that is not declared is not handed out
definePlugin({ id: 'undeclared', setup({ counter }) { void counter; } });
// @ts-expect-error what is provided must be returned
definePlugin({ id: 'forgetful', provides: { counter: Counter }, setup() {} });
// @ts-expect-error … and have the token's type
definePlugin({ id: 'wrong', provides: { counter: Counter }, setup: () => ({ counter: { next: () => 'one' } }) });
definePlugin({ id: 'right', provides: { counter: Counter }, setup: () => ({ counter: { next: () => 1 } }) });

definePlugin({
  id: 'hooks', hooks: [added, shown, slug],
  setup(_services, plugin) {
    plugin.on(added, ({ item }) => void item.title);
    // What a statement resolves to, for instance.
    plugin.on(added, ({ item }) => Promise.resolve([item.title]), { durable: true });
    plugin.on(added, ({ item }, delivery) => void [item.title, delivery.attempt], { durable: true });
    plugin.on(added, async ({ item }) => void item.title, { durable: { key: ({ item }) => item.title, perKey: 1 } });
    plugin.on(shown, (value, { loud }) => (loud ? { title: value.title.toUpperCase() } : value));
    plugin.on(slug, ({ title }) => (title === '' ? undefined : title));
    // @ts-expect-error the payload has no such field
    plugin.on(added, ({ name }) => void name);
    // @ts-expect-error only durable listeners get a delivery
    plugin.on(added, ({ item }, delivery) => void [item, delivery]);
    // @ts-expect-error a filter must return its value
    plugin.on(shown, () => {});
    // @ts-expect-error a query answers in its own type
    plugin.on(slug, () => 1);
    // @ts-expect-error only actions can be kept for later
    plugin.on(shown, (value) => value, { durable: true });
    // @ts-expect-error the payload must be whole
    void plugin.emit(added, { item: {} });
    // @ts-expect-error a query is asked, not raised
    void plugin.emit(slug, { title: '' });
    void plugin.query(slug, { title: '' }).then((answer) => holds<Equal<typeof answer, string | undefined>>());
  },
});

definePlugin({
  id: 'lists', extensionPoints: [badges],
  setup(_services, plugin) {
    plugin.extend(badges, { label: 'new' });
    // @ts-expect-error an addition has the list's type
    plugin.extend(badges, { label: 1 });
    const list = plugin.extensions(badges);
    holds<Equal<(typeof list)[number]['value'], { readonly label: string }>>();
  },
});

declare const discussions: typeof contract;
definePlugin({
  id: 'fillings',
  setup(_services, plugin) {
    plugin.extend(slotFillings, fill(discussions.cardMeta, (cards) => cards.map(({ title }) => html`${title}`)));
    // @ts-expect-error a misspelt slot is not there
    plugin.extend(slotFillings, fill(discussions.cardMate, () => []));
    // @ts-expect-error an id is no slot
    plugin.extend(slotFillings, fill('discussion-card.meta', () => []));
    // @ts-expect-error a row has no such field
    plugin.extend(slotFillings, fill(discussions.cardMeta, (cards) => cards.map(({ name }) => html`${name}`)));
    // @ts-expect-error a slot of posts is not given discussions
    plugin.extend(slotFillings, fill(discussions.postFooter, (posts: readonly contract.DiscussionRecord[]) => posts.map(() => undefined)));
    // @ts-expect-error text is not HTML that is safe
    plugin.extend(slotFillings, fill(discussions.cardMeta, (cards) => cards.map(({ title }) => title)));
  },
});

definePlugin({
  id: 'values', settings,
  setup(_services, plugin) {
    holds<Equal<(typeof plugin.settings)['item.limit'], number>>();
    // @ts-expect-error a setting of another plugin is not to be read here
    void plugin.settings['other.limit'];
    // @ts-expect-error … nor any to be written
    plugin.settings['item.style'] = 'loud';
  },
});

function routes(plugin: PluginHandle): void {
  const result = Type.Object({ size: Type.Integer() });
  plugin.route(surface, { method: 'get', path: '/:id', params: Type.Object({ id: Type.Integer() }), can: 'public' })(({ params, actor }) => ({ id: params.id.toFixed(), name: actor.name }));
  plugin.route(surface, { method: 'get', path: '/', query: Type.Object({ page: Type.Optional(Type.Integer()) }), can: write, result })(({ query }) => ({ size: query.page ?? 1 }));
  plugin.route(surface, { method: 'post', path: '/', body: Type.Object({ title: Type.String() }), can: write })(({ body }) => ({ title: body.title.trim() }));
  plugin.route(surface, { method: 'get', path: '/found/:id', can: 'public', load: ({ params }) => ({ owner: params['id'] }) })(({ target }) => ({ owner: target.owner }));
  plugin.route(doors, { method: 'get', path: '/own', can: 'member', load: ({ actor }) => ({ own: actor.id.length }) })(({ actor, target }) => ({ id: actor.id.trim(), own: target.own }));
  plugin.route(doors, { method: 'delete', path: '/any', can: close })(({ actor }) => ({ id: actor.id.trim() }));
  for (const can of ['public', write] as const)
    // @ts-expect-error guests may come here, too
    plugin.route(doors, { method: 'get', path: '/any', can })(({ actor }) => ({ id: actor.id.trim() }));
  // @ts-expect-error a route must say who may call it
  plugin.route(surface, { method: 'get', path: '/open' })(() => ({}));
  // @ts-expect-error a permission is a ref, not its name
  plugin.route(surface, { method: 'get', path: '/named', can: 'item.write' })(() => ({}));
  // @ts-expect-error there is no such method
  plugin.route(surface, { method: 'fetch', path: '/method', can: 'public' })(() => ({}));
  // @ts-expect-error the result must fit its schema
  plugin.route(surface, { method: 'get', path: '/result', can: 'public', result })(() => ({ size: 'large' }));
  // @ts-expect-error a route without a body schema has no body
  plugin.route(surface, { method: 'post', path: '/body', can: 'public' })(({ body }) => ({ title: body.title }));
  // @ts-expect-error the query is what its schema says
  plugin.route(surface, { method: 'get', path: '/query', can: 'public', query: Type.Object({ page: Type.Integer() }) })(({ query }) => ({ page: query.page.trim() }));
}

definePlugin({ id: 'routes', setup: (_services, plugin) => routes(plugin) });

defineCommand({ name: 'count', summary: 'Counts.', options: Type.Object({ from: Type.Integer() }), needs: { counter: Counter }, run: ({ counter }, { from }, console) => console.print(String(counter.next() + from)) });
// @ts-expect-error options have the types of their schema
defineCommand({ name: 'count', summary: 'Counts.', options: Type.Object({ from: Type.Integer() }), run: (_services, { from }) => void from.trim() });

// @ts-expect-error each option of a surface is described
defineSurface<{ readonly actor: unknown }, object, { readonly quiet?: boolean }>('things', { prefix: '/things', options: {} });
definePlugin({
  id: 'options',
  setup(_services, plugin) {
    plugin.route(surface, { method: 'get', path: '/a', can: 'member', options: { quiet: true } })(() => ({}));
    // @ts-expect-error a misspelt option does not compile
    plugin.route(surface, { method: 'get', path: '/b', can: 'public', options: { quite: true } })(() => ({}));
    // @ts-expect-error nor does one of another type
    plugin.route(surface, { method: 'get', path: '/c', can: 'public', options: { quiet: 'yes' } })(() => ({}));
    // @ts-expect-error who may call is said by every route
    plugin.route(surface, { method: 'get', path: '/d' })(() => ({}));
  },
});
