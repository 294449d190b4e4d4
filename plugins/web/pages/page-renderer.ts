import type { Awaitable, Extension, PluginHandle } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import type { Account } from 'parley-forum/plugins/accounts';
import {
  SafeHtml,
  type NavigationItem,
  type PageFeed,
  type PageHead,
  type SidebarSection,
  type SlotFilling,
  type View,
} from '../api.ts';
import type { RenderScope } from '../templates/helpers.ts';
import { renderHead } from './head.ts';
import type { Locale } from '../themes/locales.ts';
import type { Branding } from '../themes/branding.ts';
import type { ThemeBundle } from '../themes/theme-bundle.ts';
import {
  bodyPlaceholder,
  fillLayout,
  fillSlotPlaceholders,
  fillSlots,
  splitAtSlots,
  type HtmlWithSlots,
} from './placeholders.ts';
import { SlotCollector, type Attempt } from './slots.ts';
import {
  pageData,
  siteData,
  viewerData,
  type PageContext,
  type TemplateData,
  type TemplateLink,
  type TemplateSection,
} from './template-data.ts';

/** Ends every page, whatever the theme: a live region for scripts, and the element that asks before text is lost. */
const FOOT = `<div id="announcer" class="hidden" role="status" aria-live="polite"></div>
<x-leaving hidden data-when="form textarea"></x-leaving>`;

export interface RenderedPage {
  /** The page with placeholders where responses differ. */
  readonly html: Buffer;
  /** False if a plugin's part is missing: such a page is cached for only a second. */
  readonly complete: boolean;
  /** Cache tags in addition to those of its route. */
  readonly tags: readonly string[];
}

/** A page without its frame. */
export interface PageBody extends RenderedBody {
  readonly html: HtmlWithSlots;
  readonly occurrences: SlotCollector['occurrences'];
  /** False if a plugin's part is missing. */
  readonly complete: boolean;
}

interface RenderedBody {
  /** Content for other places in the frame, by region name. */
  readonly regions: ReadonlyMap<string, string>;
  readonly head: PageHead;
  readonly model: object;
  readonly status: number;
  /** Epoch milliseconds until which all relative dates in it stay true. */
  readonly trueUntil: number;
}

interface Frame {
  readonly head: PageHead;
  readonly data: TemplateData;
  readonly complete: boolean;
  readonly tags: readonly string[];
}

interface RenderParts {
  readonly collector: SlotCollector;
  readonly regions: Map<string, string>;
  trueUntil?(moment: number): void;
  /** The head of the page, for the layout. */
  readonly head?: PageHead;
}

interface Navigation {
  readonly areas: Readonly<Record<NavigationItem['area'], readonly TemplateLink[]>>;
  readonly complete: boolean;
  readonly tags: readonly string[];
}

export interface PageRendererDeps {
  readonly branding: () => Branding;
  readonly baseUrl: string;
  readonly now: () => number;
  readonly attempt: Attempt;
  readonly attemptSync: PluginHandle['attemptSync'];
  /** Whether pages mark their slots with HTML comments. */
  readonly markSlots: boolean;
  readonly fillings: () => readonly Extension<SlotFilling>[];
  readonly navigation: () => readonly Extension<NavigationItem>[];
  readonly sidebar: () => readonly Extension<SidebarSection>[];
  readonly feeds: () => readonly Extension<(head: PageHead) => Awaitable<readonly PageFeed[]>>[];
  /** Builds the current bundle; `previous` is the one before it. */
  buildBundle(previous: ThemeBundle | undefined): ThemeBundle;
  /** The account of a member, for their name and picture in the bar. */
  accountOf(viewer: Viewer): Promise<Account | undefined> | undefined;
}

/**
 * Renders pages and fragments with the current theme bundle. Data is collected first, then everything is rendered
 * synchronously.
 */
export class PageRenderer {
  readonly #deps: PageRendererDeps;
  #bundle: ThemeBundle | undefined;
  #outdated = true;
  #generation = 0;
  #scope: RenderScope | undefined;

  constructor(deps: PageRendererDeps) {
    this.#deps = deps;
  }

  /** For the helpers; throws unless something is being rendered. */
  readonly scope = (): RenderScope => {
    if (!this.#scope) throw new Error('helpers can only be used while a template is being rendered');
    return this.#scope;
  };

  get bundle(): ThemeBundle {
    if (!this.#bundle || this.#outdated) this.#bundle = this.#deps.buildBundle(this.#bundle);
    this.#outdated = false;
    return this.#bundle;
  }

  /** Makes the next page use a new bundle. */
  invalidate(): void {
    this.#outdated = true;
    this.#generation++;
  }

  /** Identifies the bundle and its generation: while a plugin restarts, pages lack its parts. */
  get hash(): string {
    return `${this.bundle.hash}.${this.#generation}`;
  }

  /** A page that is rendered for a single viewer. */
  async page(view: View, context: PageContext): Promise<RenderedPage> {
    const feeds = await this.#feeds(view.head);
    const frame = await this.#frame({ ...view.head, feeds: feeds.list }, context);
    const { body, text, collector } = this.#renderBody(view, frame.head, context, frame.data);
    const shown = { ...body, html: splitAtSlots(text), occurrences: collector.occurrences };
    const page = await this.#renderPage(shown, frame, context);
    return { ...page, complete: page.complete && feeds.complete };
  }

  /** Whether a view shows data that belongs to one viewer. */
  isPersonal({ template, frame }: View): boolean {
    const { templates } = this.bundle;
    return templates.isPersonal(template) || (frame !== undefined && templates.isPersonal(frame));
  }

  /**
   * The part of a page that is the same for all viewers whom `context.viewer` represents; `framed` completes it for one
   * of them.
   */
  async sharedBody(view: View, context: PageContext): Promise<PageBody> {
    const feeds = await this.#feeds(view.head);
    const head = { ...view.head, feeds: feeds.list };
    const data = { ...this.#templateData(context), page: pageData(head, context) };
    const { body, text, collector } = this.#renderBody(view, head, context, data);
    const { occurrences, complete } = await collector.fillShared(context.viewer);
    const dated = occurrences.some(({ shared }) =>
      [...shared.values()].some((text) => text.includes(' data-relative')),
    );
    return {
      ...body,
      html: splitAtSlots(text),
      occurrences,
      complete: complete && feeds.complete,
      trueUntil: dated ? this.#deps.now() : body.trueUntil,
    };
  }

  async framed(body: PageBody, context: PageContext): Promise<RenderedPage> {
    const page = await this.#renderPage(body, await this.#frame(body.head, context), context);
    return { ...page, complete: page.complete && body.complete };
  }

  /** The content of the frame alone, without the frame's regions. */
  async unframed(shown: PageBody | View, context: PageContext): Promise<RenderedPage> {
    if ('kind' in shown) {
      const { text, complete } = await this.fragment(shown.template, shown.model, context);
      return { html: Buffer.from(text), complete, tags: [] };
    }
    const { contentOf, complete } = await this.#slotCollector(shown.occurrences).contents(context.viewer);
    return { html: fillSlots(shown.html, contentOf), complete, tags: [] };
  }

  #renderBody(
    { template, model, frame, status }: View,
    head: PageHead,
    context: PageContext,
    data: TemplateData,
  ): { readonly body: RenderedBody; readonly text: string; readonly collector: SlotCollector } {
    const { bundle } = this;
    const collector = this.#slotCollector();
    const regions = new Map<string, string>();
    let until = Infinity;
    const trueUntil = (moment: number): void => void (until = Math.min(until, moment));
    const text = this.#inScope(bundle, context, { collector, regions, trueUntil }, () => {
      const inner = bundle.templates.get(template)(model, data);
      return frame === undefined ? inner : bundle.templates.get(frame)({ body: new SafeHtml(inner), model }, data);
    });
    return { body: { regions, head, model, status, trueUntil: until }, text, collector };
  }

  async #renderPage(
    { regions, model, html, occurrences }: Pick<PageBody, 'regions' | 'model' | 'html' | 'occurrences'>,
    frame: Frame,
    context: PageContext,
  ): Promise<RenderedPage> {
    const { bundle } = this;
    const collector = this.#slotCollector(occurrences);
    const layout = this.#inScope(bundle, context, { collector, regions: new Map(regions), head: frame.head }, () =>
      bundle.templates.get('layout')({ body: bodyPlaceholder, model }, frame.data),
    );
    const { contentOf, complete } = await collector.contents(context.viewer);
    const page = fillLayout(fillSlotPlaceholders(layout, contentOf), fillSlots(html, contentOf));
    return { html: page, complete: complete && frame.complete, tags: frame.tags };
  }

  /** The data for the layout around a page's body. */
  async #frame(head: PageHead, context: PageContext): Promise<Frame> {
    const [navigation, sidebar, account] = await Promise.all([
      this.#navigation(context, head),
      this.#sidebar(context, head),
      this.#deps.accountOf(context.viewer),
    ]);
    return {
      head,
      data: {
        ...this.#templateData(context, account),
        navigation: navigation.areas,
        sidebar: sidebar.sections,
        page: pageData(head, context),
      },
      complete: navigation.complete && sidebar.complete,
      tags: navigation.tags,
    };
  }

  /** A template on its own. Its forms come without a CSRF token: the page's script inserts that of the page. */
  async fragment(
    template: string,
    model: object,
    context: PageContext,
  ): Promise<{ readonly text: string; readonly complete: boolean }> {
    const { bundle } = this;
    const collector = this.#slotCollector();
    const data = { ...this.#templateData(context), page: { name: 'fragment' } };
    const text = this.#inScope(bundle, context, { collector, regions: new Map() }, () =>
      bundle.templates.get(template)(model, data),
    );
    const { contentOf, complete } = await collector.contents(context.viewer);
    return { text: fillSlotPlaceholders(text, contentOf), complete };
  }

  #slotCollector(inner?: PageBody['occurrences']): SlotCollector {
    const { fillings, attempt, markSlots: marks } = this.#deps;
    return new SlotCollector({ fillings: fillings(), attempt, marks }, inner);
  }

  #inScope(
    bundle: ThemeBundle,
    context: PageContext,
    { collector, regions, trueUntil = () => undefined, head }: RenderParts,
    render: () => string,
  ): string {
    const { locale, preferences, viewer } = context;
    const { branding, baseUrl, now } = this.#deps;
    this.#scope = {
      locale,
      now: now(),
      regions,
      trueUntil,
      asset: bundle.asset,
      icon: (name) => bundle.icons.get(name),
      slot: (id, context, fallback) => collector.add(id, context, fallback),
      head: () =>
        head
          ? renderHead({
              head,
              bundle,
              locale,
              branding: branding(),
              baseUrl,
              scheme: preferences.scheme,
              member: !isGuest(viewer),
              keys: preferences.keys !== 'off',
            })
          : new SafeHtml(''),
      foot: () => new SafeHtml(FOOT),
    };
    try {
      return render();
    } finally {
      this.#scope = undefined;
    }
  }

  #templateData({ viewer, locale, preferences }: PageContext, account?: Account): TemplateData {
    const { branding, baseUrl } = this.#deps;
    return { site: siteData(branding(), baseUrl, locale), viewer: viewerData(viewer, account), preferences };
  }

  async #navigation({ viewer, locale, url }: PageContext, head: PageHead): Promise<Navigation> {
    const { navigation, attemptSync } = this.#deps;
    let complete = true;
    const items = navigation().filter(({ plugin, value }) => {
      if (!value.visible) return true;
      const visible = attemptSync(plugin, `link ${value.label}`, () => value.visible?.(viewer));
      complete &&= visible !== undefined;
      return visible;
    });
    const counts = await Promise.all(
      items.map(async ({ plugin, value: { count, label } }) =>
        count ? this.#deps.attempt(plugin, `number of ${label}`, () => count.load(viewer)) : 0,
      ),
    );
    const here = url.split('?')[0];
    // A page that counts as part of another one (`head.current`) may have a navigation link of its own.
    const pathIn = (area: NavigationItem['area']): string | undefined =>
      items.some(({ value }) => value.area === area && value.href === here) ? here : (head.current ?? here);
    const shown = items.map(({ value: { area, label, href, icon } }, at) => ({
      area,
      item: { label: localise(locale, label), href, icon, count: counts[at], current: href === pathIn(area) },
    }));
    const of = (area: NavigationItem['area']): TemplateLink[] =>
      shown.filter((one) => one.area === area).map(({ item }) => item);
    return {
      areas: {
        main: of('main'),
        tabs: of('tabs'),
        account: of('account'),
        settings: of('settings'),
        footer: of('footer'),
        moderation: of('moderation'),
      },
      complete: complete && counts.every((count) => count !== undefined),
      tags: items.flatMap(({ value }) => value.count?.tags ?? []),
    };
  }

  async #feeds(head: PageHead): Promise<{ readonly list: readonly PageFeed[]; readonly complete: boolean }> {
    const { attempt, feeds } = this.#deps;
    const added = await Promise.all(
      feeds().map(({ plugin, value }) => attempt(plugin, 'feeds of a page', () => value(head))),
    );
    return {
      list: [...(head.feeds ?? []), ...added.flatMap((list) => list ?? [])],
      complete: added.every((list) => list !== undefined),
    };
  }

  async #sidebar(
    { viewer, locale, url }: PageContext,
    head: PageHead,
  ): Promise<{ readonly sections: readonly TemplateSection[]; readonly complete: boolean }> {
    const path = head.current ?? url.split('?')[0];
    const answers = await Promise.all(
      this.#deps.sidebar().map(async ({ plugin, value }) => {
        const items = await this.#deps.attempt(plugin, `sidebar ${value.title}`, () => value.items(viewer));
        return (
          items && {
            title: localise(locale, value.title),
            items: items.map((item) => ({
              ...item,
              label: localise(locale, item.label),
              current: item.href === path,
            })),
          }
        );
      }),
    );
    const sections = answers.filter((section) => section !== undefined);
    return {
      sections: sections.filter((section) => section.items.length > 0),
      complete: sections.length === answers.length,
    };
  }
}

/** `plugin:key` is translated; any other label is shown as it is. */
const localise = (locale: Locale, label: string): string =>
  /^[a-z][a-z0-9-]*:[a-z0-9_.-]+$/i.test(label) ? locale.text(label) : label;
