import { defineAction, definePermission } from 'parley-forum';

/** A request to POST /api/webhooks with a valid signature. */
export interface ReceivedWebhook {
  /** The sender's `webhook-id`, or a generated id if there was none. */
  readonly id: string;
  readonly payload: unknown;
  /** Header names are in lower case; cookies and credentials are omitted. */
  readonly headers: Readonly<Record<string, string>>;
  readonly receivedAt: string;
}
/** Raised in a transaction, once per id within 24 hours; durable listeners never miss one. */
export const webhookReceived = defineAction<ReceivedWebhook>('webhook.received');

/** Why a webhook was switched off automatically: its URL returned 410, or deliveries failed for days. */
export const DISABLED_REASONS = ['gone', 'failing'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];
/** A webhook was switched off automatically, because its receiver is gone or keeps failing. */
export const webhookDisabled = defineAction<{
  readonly webhook: { readonly id: string; readonly name: string; readonly reason: DisabledReason };
}>('webhook.disabled');

/**
 * An administrator created or changed a webhook. Only the host of its URL is included, because the rest may contain a
 * secret of the receiver.
 */
export const webhookSaved = defineAction<{
  readonly actor: string | undefined;
  readonly webhook: { readonly id: string; readonly name: string; readonly host: string; readonly active: boolean };
}>('webhook.saved');
/** An administrator deleted a webhook. */
export const webhookDeleted = defineAction<{
  readonly actor: string | undefined;
  readonly webhook: { readonly id: string; readonly name: string };
}>('webhook.deleted');
/** The secret of a webhook was replaced. */
export const webhookSecretRotated = defineAction<{
  readonly actor: string | undefined;
  readonly webhook: { readonly id: string };
}>('webhook.secret-rotated');
/** A test is about to be sent, whether or not the webhook is switched on. */
export const webhookTested = defineAction<{
  readonly actor: string | undefined;
  readonly webhook: { readonly id: string };
}>('webhook.tested');
/** Deliveries are being sent again, of one webhook or of all. */
export const webhookRedelivered = defineAction<{
  readonly actor: string | undefined;
  readonly webhook: string | undefined;
  readonly count: number;
}>('webhook.redelivered');

/**
 * Status of an attempt. `retrying`: it failed, and is or was followed by another at `next_attempt_at`; `failed`: it was
 * the last one; `blocked`: requests to the URL are not allowed from here; `disabled`: the webhook was switched off
 * before the attempt, or returned 410.
 */
export const STATUSES = ['pending', 'delivered', 'failed', 'retrying', 'blocked', 'disabled'] as const;
export type Status = (typeof STATUSES)[number];

export interface WebhookRecord {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly active: boolean;
  /** Ids of categories; empty for all. Events without a category are always sent. */
  readonly categories: readonly string[];
  readonly last_status: Status | null;
  readonly last_delivery_at: string | null;
}
/** One attempt to deliver one event to one webhook. */
export interface DeliveryRecord {
  readonly id: string;
  /** The same for all attempts; receivers see it as `webhook-id`. */
  readonly event_id: string;
  readonly webhook_id: string;
  readonly event: string;
  readonly status: Status;
  /** Number of this attempt, starting at 1, and the maximum number of attempts. */
  readonly attempt: number;
  readonly attempts: number;
  readonly response_status: number | null;
  readonly duration_ms: number | null;
  readonly next_attempt_at: string | null;
  readonly error: string | null;
  readonly created_at: string;
}
/** The attempts of one hour; the durations in milliseconds cover attempts with a response. */
export interface HourRecord {
  readonly hour: string;
  readonly delivered: number;
  readonly failed: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
}
export interface StatisticsRecord {
  /** Number of attempts. */
  readonly deliveries: number;
  readonly delivered: number;
  readonly failed: number;
  /** Number of events currently waiting for their first or a further attempt. */
  readonly pending: number;
  /** From 0 to 1, of the completed attempts; null if there are none. */
  readonly success_rate: number | null;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  /** Every hour of the period, oldest first. */
  readonly per_hour: readonly HourRecord[];
}

export const manageWebhooks = definePermission('webhooks.manage', {
  label: 'manage webhooks and see what they sent',
  default: 'admin',
});
