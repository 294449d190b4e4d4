import { messageOf, type Cluster, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { signals, type Live } from 'parley-forum/ports/live';
import type { Message } from './stream.ts';

/** The subject under which processes publish signals to each other. */
const SUBJECT = 'live.sent';

interface SentSignal {
  readonly name: string;
  readonly data: object;
  readonly to?: string;
}
export interface SignalsDeps {
  readonly plugin: PluginHandle;
  readonly cluster: Cluster;
  deliver(message: Message, to: string | undefined): Promise<void>;
}

/** Sends signals to the streams of every process, immediately or not at all. */
export class Signals implements Live {
  readonly #deps: SignalsDeps;

  constructor(deps: SignalsDeps) {
    this.#deps = deps;
  }

  /** Subscribes to the signals of other processes; the returned function unsubscribes. */
  listen(): () => void {
    // Without a payload, messages were missed; signals may be missed by design.
    return this.#deps.cluster.subscribe(SUBJECT, (sent) => sent && void this.#deliver(sent as SentSignal));
  }

  send(signal: string, data: object, to?: string): void {
    const sent: SentSignal = { name: signal, data, ...(to !== undefined && { to }) };
    void this.#deliver(sent);
    void this.#deps.cluster.publish(SUBJECT, sent);
  }

  /** Whether the viewer may receive a signal; nobody receives one that no plugin registered or whose check fails. */
  async canReceive({ name, data }: Message, viewer: Viewer): Promise<boolean> {
    const { plugin } = this.#deps;
    const found = plugin.extensions(signals).find(({ value }) => value.name === name);
    if (!found)
      plugin.log.warn(
        { signal: name },
        'a signal that no plugin has added to the list "live.signals" was sent; it is not delivered',
      );
    return (
      found !== undefined &&
      (await plugin.attempt(found.plugin, `signal ${name}`, () => found.value.visible(data, viewer))) === true
    );
  }

  async #deliver({ name, data, to }: SentSignal): Promise<void> {
    try {
      await this.#deps.deliver({ name, data }, to);
    } catch (error) {
      this.#deps.plugin.log.warn({ signal: name, error: messageOf(error) }, 'a signal could not be delivered');
    }
  }
}
