ALTER TABLE `trusted_issuers` ADD `enable_token_review` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `trusted_issuers` ADD `kubernetes_api_server_url` text;--> statement-breakpoint
ALTER TABLE `trusted_issuers` ADD `kubernetes_api_server_ca_pem` text;--> statement-breakpoint
ALTER TABLE `trusted_issuers` ADD `kubernetes_api_server_credential` text;--> statement-breakpoint
ALTER TABLE `trusted_issuers` ADD `token_review_audience` text;