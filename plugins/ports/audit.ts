import { defineExtensionPoint, type Action } from 'parley-forum';

/** An entry of the log. Never with secrets, tokens, passwords, e-mail addresses or what members wrote. */
export interface AuditEntry<A extends string = string> {
  /** What happened, in words with a dot such as `account.logged-in`; stable, since people filter by it. */
  readonly action: A;
  /** The account that did it, or `commandLine`; absent where no one was logged in or the program did it by itself. */
  readonly actor?: string | undefined;
  /** What it was done to. */
  readonly subject?: { readonly type: string; readonly id: string } | undefined;
  /** The client's IP address, where it matters. */
  readonly address?: string | undefined;
  /** Short facts, such as the keys of the settings that changed; texts are cut at 200 characters. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
}

/** Which entry an action leaves. Added by the plugin that owns the hook; one rule for each hook. */
export interface AuditRule<P = any> {
  readonly hook: Action<P>;
  /**
   * All actions that its entries may have. What people read is `audit.<action>` in the texts of the plugin that adds
   * the rule.
   */
  readonly actions: readonly string[];
  /**
   * `undefined`: no entry. Runs after the action, perhaps more than once, so it must only read the payload.
   */
  entry(payload: P): AuditEntry | undefined;
}
export const auditRules = defineExtensionPoint<AuditRule>(
  'audit.rules',
  'Which entry of the audit log an action leaves, if any; added by the plugin that owns the hook.',
);

/** A rule whose payload is typed by its hook, and whose entries have no other actions. */
export const audited = <P, const A extends string>(
  hook: Action<P>,
  actions: readonly A[],
  entry: (payload: P) => AuditEntry<NoInfer<A>> | undefined,
): AuditRule<P> => ({ hook, actions, entry });
