CREATE TABLE `audit_logs` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`created_at` integer NOT NULL,
	`request_id` text NOT NULL,
	`action` text NOT NULL,
	`outcome` text NOT NULL,
	`reason` text,
	`actor_type` text NOT NULL,
	`actor_id` text,
	`resource_type` text,
	`resource_id` text,
	`trusted_issuer_id` text,
	`subject` text,
	`client_id` text,
	`ip_address` text,
	`user_agent` text,
	`evidence` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `audit_logs_created_at` ON `audit_logs` (`created_at`);--> statement-breakpoint
CREATE INDEX `audit_logs_request_id` ON `audit_logs` (`request_id`);--> statement-breakpoint
CREATE INDEX `audit_logs_action` ON `audit_logs` (`action`);--> statement-breakpoint
CREATE INDEX `audit_logs_reason` ON `audit_logs` (`reason`) WHERE "audit_logs"."reason" is not null;--> statement-breakpoint
CREATE INDEX `audit_logs_resource_type` ON `audit_logs` (`resource_type`) WHERE "audit_logs"."resource_type" is not null;--> statement-breakpoint
CREATE INDEX `audit_logs_resource_id` ON `audit_logs` (`resource_id`) WHERE "audit_logs"."resource_id" is not null;--> statement-breakpoint
CREATE INDEX `audit_logs_trusted_issuer_id` ON `audit_logs` (`trusted_issuer_id`);--> statement-breakpoint
CREATE INDEX `audit_logs_subject` ON `audit_logs` (`subject`);--> statement-breakpoint
CREATE INDEX `audit_logs_client_id` ON `audit_logs` (`client_id`);--> statement-breakpoint
CREATE TABLE `client_secrets` (
	`id` text PRIMARY KEY NOT NULL,
	`client_row_id` text NOT NULL,
	`salt` blob NOT NULL,
	`hash` blob NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	FOREIGN KEY (`client_row_id`) REFERENCES `clients`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `client_secrets_client_row_id` ON `client_secrets` (`client_row_id`);--> statement-breakpoint
CREATE TABLE `clients` (
	`id` text PRIMARY KEY NOT NULL,
	`client_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`allowed_scopes` text NOT NULL,
	`allowed_resources` text NOT NULL,
	`default_resource` text,
	`access_token_ttl_seconds` integer NOT NULL,
	`access_token_signing_alg` text NOT NULL,
	`organization_id` text,
	`jwks` text,
	`resource_identifiers` text NOT NULL,
	`is_active` integer NOT NULL,
	`managed_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `clients_client_id` ON `clients` (`client_id`);--> statement-breakpoint
CREATE INDEX `clients_created_at` ON `clients` (`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `issuer_urls` (
	`url` text PRIMARY KEY NOT NULL,
	`trusted_issuer_id` text NOT NULL,
	FOREIGN KEY (`trusted_issuer_id`) REFERENCES `trusted_issuers`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `issuer_urls_trusted_issuer_id` ON `issuer_urls` (`trusted_issuer_id`);--> statement-breakpoint
CREATE TABLE `registry_revision` (
	`id` integer PRIMARY KEY NOT NULL,
	`revision` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `replay_claims` (
	`key` blob PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL,
	`claimed_at` integer NOT NULL,
	`request_id` text NOT NULL,
	CONSTRAINT "replay_claims_key_bytes" CHECK(length("replay_claims"."key") = 32)
);
--> statement-breakpoint
CREATE INDEX `replay_claims_expires_at` ON `replay_claims` (`expires_at`);--> statement-breakpoint
CREATE TABLE `revoked_tokens` (
	`jti` text PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL,
	`revoked_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `revoked_tokens_expires_at` ON `revoked_tokens` (`expires_at`);--> statement-breakpoint
CREATE TABLE `signing_keys` (
	`kid` text PRIMARY KEY NOT NULL,
	`alg` text NOT NULL,
	`public_jwk` text NOT NULL,
	`sealed_private_key` blob NOT NULL,
	`created_at` integer NOT NULL,
	`active_from` integer NOT NULL,
	`active_until` integer,
	`remove_at` integer
);
--> statement-breakpoint
CREATE TABLE `trusted_issuers` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`issuer_url` text NOT NULL,
	`additional_issuer_urls` text NOT NULL,
	`issuer_type` text NOT NULL,
	`key_source_type` text NOT NULL,
	`jwks_url` text,
	`jwks` text,
	`discovery_url` text,
	`ca_pem` text,
	`allow_private_network` integer NOT NULL,
	`expected_aud` text NOT NULL,
	`allow_additional_audiences` integer NOT NULL,
	`subject_claim` text NOT NULL,
	`algorithms` text NOT NULL,
	`require_kid` integer NOT NULL,
	`max_token_lifetime_seconds` integer NOT NULL,
	`assertion_use` text NOT NULL,
	`require_pod` integer NOT NULL,
	`require_node` integer NOT NULL,
	`organization_id` text,
	`service_account_id` text,
	`is_active` integer NOT NULL,
	`managed_by` text NOT NULL,
	`key_source_revision` integer NOT NULL,
	`key_source_updated_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`service_account_id`) REFERENCES `clients`(`id`) ON UPDATE no action ON DELETE set null
);
--> statement-breakpoint
CREATE INDEX `trusted_issuers_created_at` ON `trusted_issuers` (`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `trusted_issuers_service_account_id` ON `trusted_issuers` (`service_account_id`);--> statement-breakpoint
CREATE TABLE `workload_bindings` (
	`id` text PRIMARY KEY NOT NULL,
	`trusted_issuer_id` text NOT NULL,
	`client_row_id` text NOT NULL,
	`subject` text NOT NULL,
	`claims` text NOT NULL,
	`token_claims` text NOT NULL,
	`is_active` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`trusted_issuer_id`) REFERENCES `trusted_issuers`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`client_row_id`) REFERENCES `clients`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `workload_bindings_unique` ON `workload_bindings` (`trusted_issuer_id`,`client_row_id`,`subject`);--> statement-breakpoint
CREATE INDEX `workload_bindings_subject` ON `workload_bindings` (`trusted_issuer_id`,`subject`);--> statement-breakpoint
CREATE INDEX `workload_bindings_client_row_id` ON `workload_bindings` (`client_row_id`);--> statement-breakpoint
CREATE INDEX `workload_bindings_created_at` ON `workload_bindings` (`created_at`,`id`);