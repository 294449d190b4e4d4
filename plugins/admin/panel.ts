import type { Extension } from 'parley-forum';
import type { Admin, AdminSection } from 'parley-forum/plugins/admin';
import { view, type PageHead, type View } from 'parley-forum/plugins/web';

const GROUPS: readonly AdminSection['group'][] = ['overview', 'people', 'content', 'integrations', 'system'];

/** The panel's frame: its grouped navigation next to any plugin's page. */
export class Panel implements Admin {
  readonly #sections: () => readonly Extension<AdminSection>[];

  constructor(sections: () => readonly Extension<AdminSection>[]) {
    this.#sections = sections;
  }

  /** The entries of the navigation, in display order. */
  get sections(): readonly AdminSection[] {
    const sections = this.#sections().map(({ value }) => value);
    return GROUPS.flatMap((group) => sections.filter((section) => section.group === group));
  }

  view(template: string, head: Omit<PageHead, 'name'>, model: object, status = 200): View {
    const { sections } = this;
    const groups = GROUPS.map((group) => ({
      title: `admin:group.${group}`,
      items: sections.filter((section) => section.group === group),
    })).filter(({ items }) => items.length > 0);
    const panel = { current: head.current, groups };
    return {
      ...view(template, { ...head, name: 'admin', noindex: true }, { ...model, panel }, status),
      frame: '@admin/frame',
    };
  }
}
