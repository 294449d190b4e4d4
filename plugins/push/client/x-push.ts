import { announce, api, button, define, fragment, toast, workerUrl } from '@forum/client';

const WORKER = '/push-worker.js';
const DEVICES = 'push-devices';

interface Device {
  readonly id: string;
  readonly current: boolean;
}

/** Switches notifications on and off for this browser. Asks for permission only when its button is pressed. */
class Push extends HTMLElement {
  readonly #text = document.createElement('p');
  readonly #button = button('', () => void this.#press());
  /** The id of this browser's device, if it is switched on. */
  #id: string | undefined;

  connectedCallback(): void {
    this.#button.className = 'button';
    void this.#start();
  }

  async #start(): Promise<void> {
    if (!('serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window))
      return this.#say('unsupported');
    // A browser without a subscription is not asked about on the server.
    if (await (await navigator.serviceWorker.getRegistration('/'))?.pushManager.getSubscription()) {
      const { devices } = await api<{ readonly devices: readonly Device[] }>('/api/push/devices');
      this.#id = devices.find(({ current }) => current)?.id;
    }
    this.#show();
  }

  #say(text: string): void {
    this.#text.textContent = this.dataset[text] ?? '';
    this.replaceChildren(this.#text);
  }

  #show(): void {
    if (Notification.permission === 'denied') return this.#say('blocked');
    const on = this.#id !== undefined;
    this.#say(on ? 'on' : 'off');
    this.#button.textContent = this.dataset[on ? 'stop' : 'start'] ?? '';
    this.#button.classList.toggle('primary', !on);
    this.append(this.#button);
  }

  async #press(): Promise<void> {
    this.#button.disabled = true;
    try {
      await (this.#id === undefined ? this.#turnOn() : this.#turnOff(this.#id));
      this.#show();
      announce(this.#text.textContent ?? '');
      await this.#refresh();
    } catch (error) {
      toast((error as Error).message || (this.dataset['failed'] ?? ''));
    }
    this.#button.disabled = false;
    if (this.#button.isConnected) this.#button.focus();
  }

  async #turnOn(): Promise<void> {
    if ((await Notification.requestPermission()) !== 'granted') return;
    await navigator.serviceWorker.register(workerUrl(WORKER));
    const { pushManager } = await navigator.serviceWorker.ready;
    // A subscription from before may be for other keys of the forum.
    await (await pushManager.getSubscription())?.unsubscribe();
    const applicationServerKey = this.dataset['key'] ?? null;
    const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
    const { endpoint, keys } = subscription.toJSON();
    ({ id: this.#id } = await api<{ readonly id: string }>('/api/push/devices', { endpoint, keys }));
  }

  async #turnOff(id: string): Promise<void> {
    await api(`/api/push/devices/${id}`, undefined, 'DELETE');
    this.#id = undefined;
    // Ends the subscription too.
    await (await navigator.serviceWorker.getRegistration('/'))?.unregister();
  }

  /** Shows the list of devices as it is now. */
  async #refresh(): Promise<void> {
    const now = (await fragment(location.pathname)).getElementById(DEVICES);
    if (now) document.getElementById(DEVICES)?.replaceWith(now);
  }
}
define('x-push', Push);
