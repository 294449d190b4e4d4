import type { Viewer } from 'parley-forum/plugins/access';
import type { MessageRecord, Messages } from 'parley-forum/plugins/messages';
import type { ConversationStore } from './conversation-store.ts';
import { messageRecords, type RecordsDeps } from './records.ts';

interface MessageReaderDeps extends RecordsDeps {
  readonly store: Pick<ConversationStore, 'message'>;
}

/** Returns messages to other plugins as far as their viewer may read them. */
export class MessageReader implements Messages {
  readonly #deps: MessageReaderDeps;

  constructor(deps: MessageReaderDeps) {
    this.#deps = deps;
  }

  async find(messageId: string, viewer: Viewer): Promise<MessageRecord | undefined> {
    const message = viewer.id === undefined ? undefined : await this.#deps.store.message(messageId, viewer.id);
    return message && (await messageRecords(this.#deps, [message]))[0];
  }
}
