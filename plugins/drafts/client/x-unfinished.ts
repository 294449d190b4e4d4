import { define, store } from '@forum/client';

/** Maximum number of drafts that are named. */
const MOST = 5;

interface Kept {
  readonly values?: Readonly<Record<string, unknown>>;
  readonly time?: number;
}

/**
 * Adds the drafts of new discussions that are only on this device: the server did not accept them, or could not be
 * reached. Nothing else leads back to them.
 */
class Unfinished extends HTMLElement {
  connectedCallback(): void {
    const { keys = '', key = '' } = this.dataset;
    const onServer = new Set([...keys.split(' '), key]);
    const own = ownKeys()
      .filter((one) => !onServer.has(one))
      .flatMap((one) => this.#linkTo(one))
      .slice(0, MOST);
    for (const link of own) this.append(...(this.childNodes.length > 0 ? [' · '] : []), link);
  }

  #linkTo(key: string): readonly HTMLAnchorElement[] {
    const { values, time = 0 } = read<Kept>(`draft:${document.body.dataset['viewer']} ${key}`);
    if (!values) return [];
    // Everything of it was on the server once: it was sent or discarded on another device.
    const copied = read<{ until?: number }>(`draft-copy:${document.body.dataset['viewer']} ${key}`);
    if (time <= (copied.until ?? 0)) return [];
    const link = document.createElement('a');
    const { device = '', untitled = '' } = this.dataset;
    link.href = `/new?draft=${key.slice('new-'.length) || '1'}`;
    link.textContent = device.replace('{title}', () => String(values['title'] || untitled));
    return [link];
  }
}

/** The keys of the viewer's drafts of new discussions on this device. */
function ownKeys(): readonly string[] {
  const prefix = `draft:${document.body.dataset['viewer']} `;
  try {
    return Object.keys(localStorage)
      .filter((one) => one.startsWith(prefix))
      .map((one) => one.slice(prefix.length))
      .filter((one) => /^new(?:-[\da-f]{12})?$/.test(one))
      .toSorted();
  } catch {
    return [];
  }
}

function read<T extends object>(key: string): Partial<T> {
  try {
    return JSON.parse(store.get(key) ?? '{}') as Partial<T>;
  } catch {
    return {};
  }
}
define('x-unfinished', Unfinished);
