import { messageOf, type Cluster, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { signals, type Live } from 'parley-forum/plugins/live';
import type { Message } from './stream.ts';

/** The subject under which processes tell each other of signals. */
const SENT = 'live.sent';

interface Sent {
  readonly name: string;
  readonly data: object;
  readonly to?: string;
}
export interface SignalsParts {
  readonly plugin: PluginHandle;
  readonly cluster: Cluster;
  deliver(message: Message, to: string | undefined): Promise<void>;
}

/** Carries signals to the streams of every process, now or never. */
export class Signals implements Live {
  readonly #parts: SignalsParts;

  constructor(parts: SignalsParts) {
    this.#parts = parts;
  }

  /** Hears what other processes send; the returned function ends that. */
  open(): () => void {
    // Without a payload something was missed, which is what signals are for.
    return this.#parts.cluster.subscribe(SENT, (sent) => sent && void this.#deliver(sent as Sent));
  }

  send(signal: string, data: object, to?: string): void {
    const sent: Sent = { name: signal, data, ...(to !== undefined && { to }) };
    void this.#deliver(sent);
    void this.#parts.cluster.publish(SENT, sent);
  }

  /** Whether the viewer may be told; nobody is of what no plugin has made known, or cannot say. */
  async heard({ name, data }: Message, viewer: Viewer): Promise<boolean> {
    const { plugin } = this.#parts;
    const found = plugin.extensions(signals).find(({ value }) => value.name === name);
    if (!found)
      plugin.log.warn(
        { signal: name },
        'a signal was sent that no plugin has added to the list "live.signals"; nobody is told',
      );
    return (
      found !== undefined &&
      (await plugin.attempt(found.plugin, `signal ${name}`, () => found.value.visible(data, viewer))) === true
    );
  }

  async #deliver({ name, data, to }: Sent): Promise<void> {
    try {
      await this.#parts.deliver({ name, data }, to);
    } catch (error) {
      this.#parts.plugin.log.warn({ signal: name, error: messageOf(error) }, 'a signal could not be delivered');
    }
  }
}
