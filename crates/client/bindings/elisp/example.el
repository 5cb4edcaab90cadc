;; -*- lexical-binding: t -*-
;; Lists the agents, installs the named one, starts it, and prints what it answers:
;; emacs --batch -L . -l example.el ID
(require 'acp-registry)
(let* ((id (pop command-line-args-left))
       (registry (acp-registry-start :args (prog1 command-line-args-left (setq command-line-args-left nil))))
       (show (lambda (event) (princ (format "%s\n" event))))
       (agents (plist-get (acp-registry-request registry "list" nil) :agents))
       (installed (acp-registry-request registry "install" `(:agents [,id]) :on-event show))
       (output ""))
  (princ (format "%s\n" (mapconcat (lambda (agent) (plist-get agent :id)) agents ", ")))
  (acp-registry-close registry)
  (let ((agent (acp-registry-launch (aref (plist-get installed :agents) 0)
                                    :filter (lambda (_ text) (setq output (concat output text)))))
        (params (list :protocolVersion 1 :clientCapabilities (make-hash-table))))
    (process-send-string
     agent (concat (json-serialize `(:jsonrpc "2.0" :id 0 :method "initialize" :params ,params)) "\n"))
    (while (not (string-match-p "\n" output)) (accept-process-output nil 1))
    (princ (format "answers %s" output))
    (delete-process agent)))
