import { defineExtensionPoint, type Action } from 'parley-forum';

/** An entry of the audit log. Never contains secrets, tokens, passwords, e-mail addresses or anything members wrote. */
export interface AuditEntry<A extends string = string> {
  /** What happened: dotted words such as `account.logged-in`. Stable, since people filter by it. */
  readonly action: A;
  /**
   * The id of the account that did it, or `commandLine`; absent if nobody was logged in or the program acted by itself.
   */
  readonly actor?: string | undefined;
  /** The object of the action. */
  readonly subject?: { readonly type: string; readonly id: string } | undefined;
  /** The client's IP address, where relevant. */
  readonly address?: string | undefined;
  /** Short facts, such as the keys of the settings that changed; strings are truncated to 200 characters. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
}

/** Maps an action to the audit entry it leaves. Added by the plugin that owns the hook; one rule per hook. */
export interface AuditRule<P = any> {
  readonly hook: Action<P>;
  /**
   * Every action its entries may have. The text shown to people is `audit.<action>` in the locale files of the plugin
   * that adds the rule.
   */
  readonly actions: readonly string[];
  /**
   * Returns the entry, or `undefined` for none. Runs after the action, possibly more than once, so it must only read
   * the payload.
   */
  entry(payload: P): AuditEntry | undefined;
}
export const auditRules = defineExtensionPoint<AuditRule>(
  'audit.rules',
  'Which audit log entry an action creates, if any; added by the plugin that owns the hook.',
);

/** Creates a rule whose payload is typed by its hook and whose entries are limited to the listed actions. */
export const audited = <P, const A extends string>(
  hook: Action<P>,
  actions: readonly A[],
  entry: (payload: P) => AuditEntry<NoInfer<A>> | undefined,
): AuditRule<P> => ({ hook, actions, entry });
