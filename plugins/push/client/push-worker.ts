/** The service worker. It keeps nothing, and passes on every request except for pages that are opened. */

/** Only what is used here: the types of pages do not include those of workers. */
interface WorkerEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface PushEvent extends WorkerEvent {
  readonly data: { json(): Partial<Message> } | null;
}
interface ClickEvent extends WorkerEvent {
  readonly notification: Notification;
}
interface PageEvent extends WorkerEvent {
  readonly request: Request;
  readonly preloadResponse: Promise<Response | undefined>;
  respondWith(response: Promise<Response>): void;
}
interface OpenWindow {
  readonly url: string;
  readonly focused: boolean;
  readonly visibilityState: DocumentVisibilityState;
  focus(): Promise<unknown>;
}
interface WorkerScope {
  readonly texts: { readonly site: string; readonly offline: string };
  readonly registration: ServiceWorkerRegistration;
  readonly clients: {
    matchAll(options: { readonly type: 'window'; readonly includeUncontrolled: true }): Promise<readonly OpenWindow[]>;
    openWindow(url: string): Promise<unknown>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install' | 'activate', listen: (event: WorkerEvent) => void): void;
  addEventListener(type: 'push', listen: (event: PushEvent) => void): void;
  addEventListener(type: 'notificationclick', listen: (event: ClickEvent) => void): void;
  addEventListener(type: 'fetch', listen: (event: PageEvent) => void): void;
}
export interface Message {
  readonly title: string;
  readonly body: string;
  readonly url: string;
  readonly tag: string;
  readonly lang: string;
}

const worker = self as unknown as WorkerScope;
const { registration, clients, texts } = worker;
const HOME = '/notifications';
const windows = (): Promise<readonly OpenWindow[]> => clients.matchAll({ type: 'window', includeUncontrolled: true });

worker.addEventListener('install', (event) => event.waitUntil(worker.skipWaiting()));
// The browser requests a page while the worker starts, so that opening it takes no longer.
worker.addEventListener('activate', (event) => event.waitUntil(registration.navigationPreload?.enable()));

async function show(message: Partial<Message>): Promise<void> {
  // The member is reading the forum, where the number at the bell has just changed.
  if ((await windows()).some(({ focused, visibilityState }) => focused && visibilityState === 'visible')) return;
  const { title = texts.site, body = '', url = HOME, tag = '', lang = '' } = message;
  await registration.showNotification(title, { body, tag, lang, data: url });
}
worker.addEventListener('push', (event) => {
  let message: Partial<Message> = {};
  try {
    message = event.data?.json() ?? {};
  } catch {
    // The browser expects a notification for each message.
  }
  event.waitUntil(show(message));
});

async function open(path: unknown): Promise<void> {
  const home = new URL(HOME, location.origin);
  const url = typeof path === 'string' && URL.canParse(path, home) ? new URL(path, home) : home;
  const { href } = url.origin === location.origin ? url : home;
  const page = (await windows()).find((one) => one.url === href);
  await (page ? page.focus() : clients.openWindow(href));
}
worker.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data));
});

const offlinePage = (): Response =>
  new Response(texts.offline, {
    status: 503,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
    },
  });

/** Removes the worker once the site no longer has it. */
async function check(): Promise<void> {
  const { status } = await fetch('/push-worker.js', { method: 'HEAD', cache: 'no-store' });
  if (status === 404) await registration.unregister();
}
let checked: Promise<void> | undefined;

async function load({ request, preloadResponse }: PageEvent): Promise<Response> {
  try {
    return (await preloadResponse) ?? (await fetch(request));
  } catch {
    return offlinePage();
  }
}
worker.addEventListener('fetch', (event) => {
  const { request } = event;
  // Everything else, forms included, does not pass through the worker.
  if (request.mode !== 'navigate' || request.method !== 'GET') return;
  event.respondWith(load(event));
  checked ??= check().catch(() => undefined);
  event.waitUntil(checked);
});
