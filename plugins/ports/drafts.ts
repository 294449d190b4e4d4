import { defineExtensionPoint, defineToken } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/** A form that a draft belongs to. */
export interface DraftForm {
  /** Title of the thing the text belongs to; null if it has no title or does not exist yet. */
  readonly title: string | null;
  readonly path: string;
  /** Fragment of the form on its page, including the `#`. */
  readonly hash?: string;
  /** Value of the parameter `draft` of the form’s address that loads this draft; 1 by default. */
  readonly draft?: string;
}

/** A plugin's forms whose drafts are saved on the server, in addition to those of discussions and posts. */
export interface DraftForms {
  /** The part of their keys before the first `-`. */
  readonly kind: string;
  /** Text key that says what kind of draft this is. */
  readonly label: string;
  /**
   * The forms these keys identify, by key, leaving out those the viewer may not see. Runs a constant number of
   * statements.
   */
  find(keys: readonly string[], viewer: Viewer): Promise<ReadonlyMap<string, DraftForm>>;
}
export const draftForms = defineExtensionPoint<DraftForms>(
  'drafts.forms',
  'Forms, besides those of discussions and posts, whose drafts are saved on the server, visible only to their authors.',
);

/** Drafts of what members are writing. */
export interface Drafts {
  /** The draft's values for the form with this key, by field; undefined if there is no draft. */
  values(key: string, viewer: Viewer): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Called after a text was submitted: deletes the drafts under these keys that contain it and keeps the others. */
  sent(userId: string, keys: readonly string[], content: string): Promise<void>;
}
export const Drafts = defineToken<Drafts>('Drafts');
