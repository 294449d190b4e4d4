import { definePermission, defineToken } from 'parley-forum';

/** An entry as administrators see it. */
export interface AuditRecord {
  readonly id: string;
  readonly action: string;
  /** Null where no one was logged in, and `username` where the account is gone. */
  readonly actor: { readonly id: string; readonly username: string | null } | null;
  /** With `username` where it is an account that is there. */
  readonly subject: { readonly type: string; readonly id: string; readonly username?: string } | null;
  readonly address: string | null;
  readonly details: Readonly<Record<string, string | number | boolean>>;
  readonly created_at: string;
}

/** The result of checking the whole log. */
export interface VerificationResult {
  /** Entries that were checked. */
  readonly entries: number;
  /** The position of the first one that is not as it was written, or before which some are missing. */
  readonly broken: number | undefined;
}
/** The entries of the audit log, and whether anybody has changed them. */
export interface AuditLog {
  /** Reads all of it, a part at a time, and recomputes every seal. */
  verify(): Promise<VerificationResult>;
}
export const AuditLog = defineToken<AuditLog>('AuditLog');

export const readAudit = definePermission('audit.read', { label: 'read the audit log', default: 'admin' });
